// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace plumb {

/// A set of byte values. Thread: any (a value).
class ByteSet {
 public:
  constexpr ByteSet() = default;

  static constexpr ByteSet range(std::uint8_t first, std::uint8_t last) {
    ByteSet set;
    for (unsigned b = first; b <= last; ++b) {
      set.insert(static_cast<std::uint8_t>(b));
    }
    return set;
  }

  static constexpr ByteSet of(std::string_view bytes) {
    ByteSet set;
    for (const char byte : bytes) {
      set.insert(static_cast<std::uint8_t>(byte));
    }
    return set;
  }

  static constexpr ByteSet all() { return range(0, 255); }

  constexpr void insert(std::uint8_t byte) { words_[byte / 64] |= std::uint64_t{1} << (byte % 64); }

  constexpr void erase(std::uint8_t byte) {
    words_[byte / 64] &= ~(std::uint64_t{1} << (byte % 64));
  }

  constexpr bool contains(std::uint8_t byte) const {
    return ((words_[byte / 64] >> (byte % 64)) & 1) != 0;
  }

  constexpr bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }

  constexpr int size() const {
    int n = 0;
    for (const std::uint64_t word : words_) {
      n += std::popcount(word);
    }
    return n;
  }

  /// The smallest member. Requires !empty().
  constexpr std::uint8_t first() const {
    int base = 0;
    for (const std::uint64_t word : words_) {
      if (word != 0) {
        return static_cast<std::uint8_t>(base + std::countr_zero(word));
      }
      base += 64;
    }
    return 0;
  }

  constexpr ByteSet& operator|=(const ByteSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] |= other.words_[i];
    }
    return *this;
  }

  constexpr ByteSet& operator&=(const ByteSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] &= other.words_[i];
    }
    return *this;
  }

  constexpr std::uint64_t word(std::size_t i) const { return words_[i]; }

  constexpr auto operator<=>(const ByteSet&) const = default;

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace plumb
