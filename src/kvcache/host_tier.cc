// SPDX-License-Identifier: Apache-2.0
#include "kvcache/host_tier.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace plumb {
namespace {

// So many blocks are passed over in one search at most; what comes next makes room anyway.
constexpr int kMaxPassedOver = 16;

constexpr std::int32_t kGuardedUses = 2;

}  // namespace

HostSlot::~HostSlot() {
  if (tier_ != nullptr) {
    tier_->give_back(index_);
  }
}

std::span<std::byte> HostSlot::payload() const {
  return tier_->memory(index_);
}

HostPin::~HostPin() {
  if (tier_ != nullptr) {
    tier_->unpin(index_);
  }
}

std::span<const std::byte> HostPin::payload() const {
  return tier_->memory(index_);
}

HostTier::HostTier(std::span<std::byte> arena, std::int64_t block_bytes)
    : arena_(arena), block_bytes_(block_bytes) {
  PLUMB_CHECK(block_bytes >= 1 && std::ssize(arena) >= block_bytes, "a host tier without a block");
  const std::int64_t num_slots =
      std::min<std::int64_t>(std::ssize(arena) / block_bytes, std::int64_t{1} << 30);
  slots_.resize(static_cast<std::size_t>(num_slots));
  free_.reserve(slots_.size());
  for (std::int64_t i = num_slots; i-- > 0;) {
    free_.push_back(static_cast<std::int32_t>(i));  // taken from the front of the arena first
  }
  places_.reserve(slots_.size());
  stats_.max_bytes = num_slots * block_bytes;
}

HostTier::~HostTier() {
  PLUMB_CHECK(num_busy_ == 0, "a slot or a pin outlives its host tier");
}

std::span<std::byte> HostTier::memory(std::int32_t index) const {
  return arena_.subspan(static_cast<std::size_t>(index * block_bytes_),
                        static_cast<std::size_t>(block_bytes_));
}

void HostTier::link_youngest(std::int32_t index) {
  Slot& slot = at(index);
  slot.older = youngest_;
  slot.younger = -1;
  (youngest_ < 0 ? oldest_ : at(youngest_).younger) = index;
  youngest_ = index;
}

void HostTier::unlink(std::int32_t index) {
  Slot& slot = at(index);
  (slot.older < 0 ? oldest_ : at(slot.older).younger) = slot.younger;
  (slot.younger < 0 ? youngest_ : at(slot.younger).older) = slot.older;
}

void HostTier::use(std::int32_t index) {
  Slot& slot = at(index);
  ++slot.num_uses;
  if (slot.num_pins == 0) {
    unlink(index);
    link_youngest(index);
  }
}

// The index of a slot that was emptied, or -1.
std::int32_t HostTier::evict() {
  for (int passed = 0; oldest_ >= 0; ++passed) {
    const std::int32_t index = oldest_;
    Slot& slot = at(index);
    unlink(index);
    if (slot.num_uses >= kGuardedUses && passed < kMaxPassedOver) {
      slot.num_uses /= 2;
      link_youngest(index);
      continue;
    }
    places_.erase(slot.hash);
    ++stats_.num_evicted;
    return index;
  }
  return -1;
}

HostSlot HostTier::reserve() {
  std::int32_t index = -1;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    index = evict();
  }
  if (index < 0) {
    ++stats_.num_dropped;
    return {};
  }
  at(index) = {.state = State::kFilling};
  ++num_busy_;
  return {this, index};
}

void HostTier::publish(const BlockHash& hash, HostSlot slot) {
  PLUMB_CHECK(slot.tier_ == this, "a slot of another tier");
  if (places_.contains(hash)) {
    return;
  }
  const std::int32_t index = slot.index_;
  slot.tier_ = nullptr;
  places_.emplace(hash, index);
  at(index) = {.hash = hash, .num_uses = 1, .state = State::kReady};
  link_youngest(index);
  --num_busy_;
  ++stats_.num_stored;
}

HostPin HostTier::pin(const BlockHash& hash) {
  const auto place = places_.find(hash);
  if (place == places_.end()) {
    return {};
  }
  Slot& slot = at(place->second);
  ++slot.num_uses;
  if (slot.num_pins++ == 0) {
    unlink(place->second);
    ++num_busy_;
  }
  return {this, place->second};
}

void HostTier::unpin(std::int32_t index) {
  if (--at(index).num_pins > 0) {
    return;
  }
  if (at(index).state == State::kForgotten) {
    give_back(index);
    return;
  }
  link_youngest(index);
  --num_busy_;
}

// What somebody still reads stays in its place until then.
void HostTier::clear() {
  for (const auto& [hash, index] : places_) {
    Slot& slot = at(index);
    if (slot.num_pins > 0) {
      slot.state = State::kForgotten;
    } else {
      unlink(index);
      slot = {};
      free_.push_back(index);
    }
  }
  places_.clear();
}

void HostTier::give_back(std::int32_t index) {
  at(index) = {};
  free_.push_back(index);
  --num_busy_;
}

std::int64_t HostTier::exists(std::span<const BlockHash> chain) const {
  const auto missing = std::find_if(chain.begin(), chain.end(),
                                    [this](const BlockHash& hash) { return !contains(hash); });
  return missing - chain.begin();
}

std::int64_t HostTier::get(std::span<const BlockHash> chain,
                           std::span<const std::span<std::byte>> out) {
  const std::int64_t count = exists(chain);
  for (std::int64_t i = count; i-- > 0;) {
    const std::int32_t index = places_.find(chain[static_cast<std::size_t>(i)])->second;
    const std::span<std::byte> from = memory(index);
    std::copy(from.begin(), from.end(), out[static_cast<std::size_t>(i)].begin());
    use(index);
  }
  stats_.num_read += count;
  return count;
}

std::int64_t HostTier::put(std::span<const TierBlock> blocks) {
  // What does not fit at all would push out its own beginning.
  blocks = blocks.first(std::min(blocks.size(), slots_.size()));
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (contains(block->hash)) {
      continue;
    }
    HostSlot slot = reserve();
    if (!slot.empty()) {
      std::copy(block->payload.begin(), block->payload.end(), slot.payload().begin());
      publish(block->hash, std::move(slot));
    }
  }
  return std::count_if(blocks.begin(), blocks.end(),
                       [this](const TierBlock& block) { return contains(block.hash); });
}

TierStats HostTier::stats() const {
  TierStats stats = stats_;
  stats.num_blocks = std::ssize(places_);
  stats.num_bytes = stats.num_blocks * block_bytes_;
  return stats;
}

Status HostTier::check_invariants() const {
  std::int64_t num_listed = 0;
  for (std::int32_t i = oldest_, older = -1; i >= 0; older = i, i = at(i).younger) {
    if (at(i).state != State::kReady || at(i).num_pins != 0 || at(i).older != older ||
        ++num_listed > num_slots()) {
      return {Code::kInternal, "the host tier's list is broken at slot " + std::to_string(i)};
    }
  }
  std::int64_t num_busy = 0;
  for (const Slot& slot : slots_) {
    num_busy += slot.state == State::kFilling || slot.num_pins > 0 ? 1 : 0;
  }
  for (const auto& [hash, index] : places_) {
    if (at(index).state != State::kReady || at(index).hash != hash) {
      return {Code::kInternal, "the host tier's table names a wrong slot"};
    }
  }
  if (num_busy != num_busy_ || num_listed + num_busy + std::ssize(free_) != num_slots()) {
    return {Code::kInternal, "slots of the host tier are lost: " + std::to_string(num_listed) +
                                 " listed, " + std::to_string(num_busy) + " busy, " +
                                 std::to_string(free_.size()) + " free of " +
                                 std::to_string(num_slots())};
  }
  return {};
}

}  // namespace plumb
