// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace plumb {

/// What a pair of neighbouring symbols becomes, and how early: lower ranks merge first.
struct Merge {
  static constexpr std::int32_t kNoRank = INT32_MAX;

  std::int32_t rank = kNoRank;
  std::int32_t result = -1;
};

/// Map from a pair of symbols to its merge. Thread: any after the last insert.
class MergeTable {
 public:
  void reserve(std::int64_t num_merges) {
    const auto wanted = std::bit_ceil(static_cast<std::size_t>(num_merges) * 2 + 2);
    if (wanted > slots_.size()) {
      grow(wanted);
    }
  }

  /// Keeps the merge that is there already.
  void insert(std::int32_t left, std::int32_t right, Merge merge) {
    if ((size_ + 1) * 2 > slots_.size()) {
      grow(slots_.empty() ? 16 : slots_.size() * 2);
    }
    Slot& slot = slots_[slot_of(key_of(left, right))];
    if (slot.key == kEmpty) {
      slot = {key_of(left, right), merge};
      ++size_;
    }
  }

  /// The merge of the pair; its rank is kNoRank if there is none.
  Merge find(std::int32_t left, std::int32_t right) const {
    if (slots_.empty()) {
      return {};
    }
    return slots_[slot_of(key_of(left, right))].merge;
  }

 private:
  static constexpr std::uint64_t kEmpty = UINT64_MAX;

  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
           static_cast<std::uint32_t>(right);
  }

  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = ((key * 0x9E3779B97F4A7C15U) >> 32) & mask;
    while (slots_[at].key != key && slots_[at].key != kEmpty) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow(std::size_t num_slots) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(num_slots));
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) {
        slots_[slot_of(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace plumb
