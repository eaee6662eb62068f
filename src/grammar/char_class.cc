// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "grammar/code_points.h"
#include "grammar/regex_set.h"

namespace plumb {
namespace {

// What the ranges have in [first, last], as offsets from first. Requires tidy ranges.
std::vector<CodePointRange> clip(std::span<const CodePointRange> ranges, char32_t first,
                                 char32_t last) {
  std::vector<CodePointRange> out;
  auto range =
      std::lower_bound(ranges.begin(), ranges.end(), first,
                       [](const CodePointRange& r, char32_t value) { return r.last < value; });
  for (; range != ranges.end() && range->first <= last; ++range) {
    out.push_back({std::max(range->first, first) - first, std::min(range->last, last) - first});
  }
  return out;
}

struct EncodedLen {
  int num_bytes;
  char32_t first;
  char32_t last;
  std::uint8_t lead;  ///< the lead byte of code point 0 in this length
};

constexpr std::array<EncodedLen, 5> kLengths = {{{1, 0, 0x7F, 0},
                                                 {2, 0x80, 0x7FF, 0xC0},
                                                 {3, 0x800, 0xD7FF, 0xE0},
                                                 {3, 0xE000, 0xFFFF, 0xE0},
                                                 {4, 0x10000, kMaxCodePoint, 0xF0}}};

}  // namespace

RegexId RegexSet::char_class(std::span<const CodePointRange> ranges) {
  const std::vector<CodePointRange> wanted = tidy_ranges(ranges);
  std::vector<RegexId> alternatives;
  for (const EncodedLen& length : kLengths) {
    const int shift = 6 * (length.num_bytes - 1);
    const char32_t block = char32_t{1} << shift;
    for (char32_t begin = length.first / block * block; begin <= length.last; begin += block) {
      const char32_t first = std::max<char32_t>(begin, length.first);
      const char32_t last = std::min<char32_t>(begin + block - 1, length.last);
      std::vector<CodePointRange> part = clip(wanted, first, last);
      if (part.empty()) {
        continue;
      }
      for (CodePointRange& range : part) {
        range.first += first - begin;
        range.last += first - begin;
      }
      const auto lead = static_cast<std::uint8_t>(length.lead | (begin >> shift));
      alternatives.push_back(
          concat2(byte_range(lead, lead), continuation(part, length.num_bytes - 1)));
    }
  }
  return any_of(alternatives);
}

// The continuation bytes that spell the offsets of the ranges.
RegexId RegexSet::continuation(std::span<const CodePointRange> ranges, int num_bytes) {
  if (num_bytes == 0) {
    return empty_;
  }
  constexpr std::uint8_t kFirstByte = 0x80;
  constexpr std::uint8_t kLastByte = 0xBF;
  const char32_t block = char32_t{1} << (6 * (num_bytes - 1));
  if (ranges.size() == 1 && ranges[0].first == 0 && ranges[0].last + 1 == block * 64) {
    const RegexId any = byte_range(kFirstByte, kLastByte);
    return concat(std::vector<RegexId>(static_cast<std::size_t>(num_bytes), any));
  }
  std::vector<RegexId> alternatives;
  for (char32_t i = 0; i < 64; ++i) {
    const auto part = clip(ranges, i * block, (i + 1) * block - 1);
    if (!part.empty()) {
      const auto byte = static_cast<std::uint8_t>(kFirstByte | i);
      alternatives.push_back(concat2(byte_range(byte, byte), continuation(part, num_bytes - 1)));
    }
  }
  return any_of(alternatives);
}

RegexId RegexSet::other_char(std::span<const CodePointRange> ranges) {
  return char_class(other_ranges(ranges));
}

RegexId RegexSet::text() {
  return repeat(other_char({}), 0, kUnbounded);
}

}  // namespace plumb
