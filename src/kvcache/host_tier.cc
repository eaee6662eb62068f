// SPDX-License-Identifier: Apache-2.0
#include "kvcache/host_tier.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/check.h"

namespace plumb {
namespace {

// So many blocks are passed over in one search at most; what comes next makes room anyway.
constexpr int kMaxPassedOver = 16;

constexpr std::int32_t kGuardedUses = 2;

std::int64_t num_blocks_in(std::span<std::byte> arena, std::int64_t block_bytes) {
  PLUMB_CHECK(block_bytes >= 1, "a tier of empty blocks");
  return std::min<std::int64_t>(std::ssize(arena) / block_bytes, std::int64_t{1} << 30);
}

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

TierOwner HostPin::owner() const {
  return tier_->at(index_).owner;
}

bool HostPin::is_whole() const {
  return tier_->at(index_).is_whole;
}

HostTier::HostTier(std::span<std::byte> arena, std::int64_t block_bytes, KvEventRecorder* events)
    : arena_(arena),
      block_bytes_(block_bytes),
      shares_(num_blocks_in(arena, block_bytes)),
      events_(events) {
  const std::int64_t num_slots = num_blocks_in(arena, block_bytes);
  PLUMB_CHECK(num_slots >= 1, "a host tier without a block");
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
  List& list = lists_[slot.owner];
  slot.older = list.youngest;
  slot.younger = -1;
  (list.youngest < 0 ? list.oldest : at(list.youngest).younger) = index;
  list.youngest = index;
}

void HostTier::unlink(std::int32_t index) {
  Slot& slot = at(index);
  List& list = lists_[slot.owner];
  (slot.older < 0 ? list.oldest : at(slot.older).younger) = slot.younger;
  (slot.younger < 0 ? list.youngest : at(slot.younger).older) = slot.older;
}

void HostTier::disown(TierOwner owner) {
  shares_.remove(owner, 1);
  if (shares_.held(owner) == 0) {
    lists_.erase(owner);
  }
}

void HostTier::use(std::int32_t index) {
  Slot& slot = at(index);
  ++slot.num_uses;
  shares_.use(slot.owner);
  if (slot.num_pins == 0) {
    unlink(index);
    link_youngest(index);
  }
}

// The index of a slot that was emptied, or -1.
std::int32_t HostTier::evict_for(TierOwner newcomer) {
  const std::optional<TierOwner> giver = shares_.giver(newcomer, 1, [this](TierOwner owner) {
    const auto list = lists_.find(owner);
    return list != lists_.end() && list->second.oldest >= 0;
  });
  if (!giver) {
    return -1;
  }
  std::int32_t index = lists_[*giver].oldest;
  for (int passed = 0; at(index).num_uses >= kGuardedUses && passed < kMaxPassedOver; ++passed) {
    at(index).num_uses /= 2;
    unlink(index);
    link_youngest(index);
    index = lists_[*giver].oldest;
  }
  unlink(index);
  places_.erase(at(index).hash);
  disown(*giver);
  ++stats_.num_evicted;
  if (events_ != nullptr) {
    events_->removed(at(index).hash, KvMedium::kCpuPinned);
  }
  return index;
}

HostSlot HostTier::reserve(TierOwner owner) {
  std::int32_t index = -1;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    index = evict_for(owner);
  }
  if (index < 0) {
    ++stats_.num_dropped;
    return {};
  }
  at(index) = {.owner = owner, .state = State::kFilling};
  shares_.add(owner, 1);
  ++num_busy_;
  return {this, index};
}

void HostTier::publish(const BlockHash& hash, HostSlot slot, bool is_whole) {
  PLUMB_CHECK(slot.tier_ == this, "a slot of another tier");
  if (contains(hash, is_whole)) {
    return;
  }
  const std::int32_t index = slot.index_;
  slot.tier_ = nullptr;
  const auto [place, is_new] = places_.try_emplace(hash, index);
  if (!is_new) {
    forget(std::exchange(place->second, index));
  }
  at(index) = {.hash = hash,
               .owner = at(index).owner,
               .num_uses = 1,
               .is_whole = is_whole,
               .state = State::kReady};
  link_youngest(index);
  --num_busy_;
  ++stats_.num_stored;
  if (events_ != nullptr && is_new) {
    events_->stored(hash, KvMedium::kCpuPinned);
  }
}

HostPin HostTier::pin(const BlockHash& hash) {
  const auto place = places_.find(hash);
  if (place == places_.end()) {
    return {};
  }
  Slot& slot = at(place->second);
  ++slot.num_uses;
  shares_.use(slot.owner);
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

void HostTier::clear() {
  for (const auto& [hash, index] : places_) {
    forget(index);
  }
  places_.clear();
}

// What somebody still reads stays in its place until then.
void HostTier::forget(std::int32_t index) {
  Slot& slot = at(index);
  if (slot.num_pins > 0) {
    slot.state = State::kForgotten;
    return;
  }
  unlink(index);
  disown(slot.owner);
  slot = {};
  free_.push_back(index);
}

void HostTier::give_back(std::int32_t index) {
  disown(at(index).owner);
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
    if (contains(block->hash, block->is_whole)) {
      continue;
    }
    HostSlot slot = reserve(block->owner);
    if (!slot.empty()) {
      std::copy(block->payload.begin(), block->payload.end(), slot.payload().begin());
      publish(block->hash, std::move(slot), block->is_whole);
    }
  }
  return std::count_if(blocks.begin(), blocks.end(), [this](const TierBlock& block) {
    return contains(block.hash, block.is_whole);
  });
}

TierStats HostTier::stats() const {
  TierStats stats = stats_;
  stats.num_blocks = std::ssize(places_);
  stats.num_bytes = stats.num_blocks * block_bytes_;
  return stats;
}

Status HostTier::check_invariants() const {
  std::int64_t num_listed = 0;
  for (const auto& [owner, list] : lists_) {
    for (std::int32_t i = list.oldest, older = -1; i >= 0; older = i, i = at(i).younger) {
      if (at(i).state != State::kReady || at(i).num_pins != 0 || at(i).older != older ||
          at(i).owner != owner || ++num_listed > num_slots()) {
        return {Code::kInternal, "the host tier's list is broken at slot " + std::to_string(i)};
      }
    }
  }
  std::int64_t num_busy = 0;
  std::map<TierOwner, std::int64_t> held;
  for (const Slot& slot : slots_) {
    num_busy += slot.state == State::kFilling || slot.num_pins > 0 ? 1 : 0;
    held[slot.owner] += slot.state != State::kFree ? 1 : 0;
  }
  for (const auto& [owner, count] : held) {
    if (shares_.held(owner) != count) {
      return {Code::kInternal, "the host tier's shares do not add up"};
    }
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
