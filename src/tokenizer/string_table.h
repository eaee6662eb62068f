// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// An append-only list of strings in one block of memory, with an index from text to position.
/// Thread: any after the last append. Cost: find is O(length of the text).
class StringTable {
 public:
  static constexpr std::int32_t kNone = -1;

  std::int32_t size() const { return static_cast<std::int32_t>(ends_.size()); }

  /// Requires 0 <= idx < size(). The view lives until the next append.
  std::string_view text(std::int32_t idx) const {
    const auto i = static_cast<std::size_t>(idx);
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(arena_).substr(begin, ends_[i] - begin);
  }

  /// Position of the text, the newest one if it was appended twice; kNone if absent.
  std::int32_t find(std::string_view text) const;

  /// Adds the text at the end, also if it is there already, and returns its position.
  std::int32_t append(std::string_view text);

  /// Position of the text, appended if absent.
  std::int32_t intern(std::string_view text);

  void reserve(std::int64_t num_strings);

  std::size_t longest() const { return longest_; }  ///< bytes of the longest text

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t idx = kNone;
  };

  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow(std::size_t num_slots);

  std::string arena_;
  std::vector<std::size_t> ends_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t longest_ = 0;
};

}  // namespace plumb
