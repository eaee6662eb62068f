// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kvcache/kv_event_recorder.h"
#include "kvcache/kv_tier.h"
#include "kvcache/tier_shares.h"

namespace plumb {

class HostTier;

/// The lease of a place in the arena that is being filled and that nobody can find yet. Gives the
/// place back when it dies unpublished.
/// Ownership: the tier outlives it. Thread: the tier's; the memory is its holder's.
class HostSlot {
 public:
  HostSlot() = default;

  HostSlot(HostSlot&& other) noexcept
      : tier_(std::exchange(other.tier_, nullptr)), index_(other.index_) {}

  HostSlot& operator=(HostSlot&& other) noexcept {
    std::swap(tier_, other.tier_);
    std::swap(index_, other.index_);
    return *this;
  }

  ~HostSlot();

  bool empty() const { return tier_ == nullptr; }

  std::span<std::byte> payload() const;

 private:
  friend class HostTier;

  HostSlot(HostTier* tier, std::int32_t index) : tier_(tier), index_(index) {}

  HostTier* tier_ = nullptr;
  std::int32_t index_ = 0;
};

/// Keeps a block of the host tier in its place while somebody reads it.
/// Ownership: the tier outlives it. Thread: the tier's; the memory may be read anywhere.
class HostPin {
 public:
  HostPin() = default;

  HostPin(HostPin&& other) noexcept
      : tier_(std::exchange(other.tier_, nullptr)), index_(other.index_) {}

  HostPin& operator=(HostPin&& other) noexcept {
    std::swap(tier_, other.tier_);
    std::swap(index_, other.index_);
    return *this;
  }

  ~HostPin();

  bool empty() const { return tier_ == nullptr; }

  std::span<const std::byte> payload() const;
  TierOwner owner() const;
  bool is_whole() const;

 private:
  friend class HostTier;

  HostPin(HostTier* tier, std::int32_t index) : tier_(tier), index_(index) {}

  HostTier* tier_ = nullptr;
  std::int32_t index_ = 0;
};

/// Blocks in one arena of host memory.
///
/// Of the owner that is to give (TierShares), the block that was used longest ago makes room,
/// except that one which was used twice since it came is passed over: its count is halved and it
/// becomes the youngest. A chain is to be used from its end to its beginning, so that the blocks
/// that others build on leave last. A block that is whole takes the place of one that is not.
/// Thread  one at a time.
/// Cost    for a block, besides its copy, a look at each owner where room is made, else constant
///         time; once all places were used, allocates for owners that it has nothing of only.
class HostTier final : public KvTier {
 public:
  /// `events` may be null; it is told what comes and makes room, not of clear().
  /// Requires the arena and events outlive the tier; the arena holds at least one block.
  HostTier(std::span<std::byte> arena, std::int64_t block_bytes, KvEventRecorder* events = nullptr);
  ~HostTier() override;
  HostTier(const HostTier&) = delete;
  HostTier& operator=(const HostTier&) = delete;

  std::int64_t exists(std::span<const BlockHash> chain) const override;
  std::int64_t get(std::span<const BlockHash> chain,
                   std::span<const std::span<std::byte>> out) override;
  std::int64_t put(std::span<const TierBlock> blocks) override;
  void clear() override;
  TierStats stats() const override;

  bool contains(const BlockHash& hash) const { return places_.contains(hash); }

  /// Whether the block is there, and whole if it must be.
  bool contains(const BlockHash& hash, bool must_be_whole) const {
    const auto place = places_.find(hash);
    return place != places_.end() && (at(place->second).is_whole || !must_be_whole);
  }

  /// A place to fill; empty if all that may make room for this owner are pinned or being filled.
  HostSlot reserve(TierOwner owner = {});
  /// Lets the block be found. If it is there already, and whole unless this one is not, the slot is
  /// given back.
  void publish(const BlockHash& hash, HostSlot slot, bool is_whole = true);
  /// Counts as a use. Empty if the block is not there.
  HostPin pin(const BlockHash& hash);

  std::int64_t num_slots() const { return static_cast<std::int64_t>(slots_.size()); }

  /// Slots that are pinned or being filled: these make no room.
  std::int64_t num_busy() const { return num_busy_; }

  /// Errors kInternal: table, list and counters disagree.
  Status check_invariants() const;

 private:
  friend class HostSlot;
  friend class HostPin;

  enum class State : unsigned char { kFree, kFilling, kReady, kForgotten };

  struct Slot {
    BlockHash hash{};
    TierOwner owner{};
    std::int32_t older = -1;
    std::int32_t younger = -1;
    std::int32_t num_pins = 0;
    std::int32_t num_uses = 0;
    bool is_whole = true;
    State state = State::kFree;
  };

  // The ready slots of one owner that nobody pins, by their last use.
  struct List {
    std::int32_t oldest = -1;
    std::int32_t youngest = -1;
  };

  Slot& at(std::int32_t index) { return slots_[static_cast<std::size_t>(index)]; }

  const Slot& at(std::int32_t index) const { return slots_[static_cast<std::size_t>(index)]; }

  std::span<std::byte> memory(std::int32_t index) const;
  void link_youngest(std::int32_t index);
  void unlink(std::int32_t index);
  void use(std::int32_t index);
  std::int32_t evict_for(TierOwner newcomer);
  void disown(TierOwner owner);
  void forget(std::int32_t index);
  void give_back(std::int32_t index);
  void unpin(std::int32_t index);

  std::span<std::byte> arena_;
  std::int64_t block_bytes_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> free_;
  std::unordered_map<BlockHash, std::int32_t, BlockHashSpread> places_;  ///< of ready slots
  std::unordered_map<TierOwner, List> lists_;                            ///< of who has a slot
  TierShares shares_;                                                    ///< in slots
  KvEventRecorder* events_;
  std::int64_t num_busy_ = 0;
  TierStats stats_;
};

}  // namespace plumb
