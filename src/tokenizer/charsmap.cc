// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/charsmap.h"

#include <algorithm>

namespace plumb {
namespace {

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

// Fields of a unit of the trie (the layout of darts-clone).
std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 512U) >> 6);
}

std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000FFU;
}

bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1U) != 0;
}

std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}

}  // namespace

Result<Charsmap> Charsmap::create(std::string_view bytes) {
  Charsmap map;
  if (bytes.empty()) {
    return map;
  }
  const std::size_t trie_bytes = bytes.size() < 4 ? 0 : read_u32(bytes, 0);
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > bytes.size() - 4) {
    return Status{Code::kInvalidArgument, "normalisation table: trie of " +
                                              std::to_string(trie_bytes) + " bytes in " +
                                              std::to_string(bytes.size()) + " bytes"};
  }
  for (std::size_t at = 4; at < 4 + trie_bytes; at += 4) {
    map.units_.push_back(read_u32(bytes, at));
  }
  map.replacements_ = bytes.substr(4 + trie_bytes);
  constexpr std::size_t kMaxReplacement = 1024;
  for (std::size_t begin = 0; begin < map.replacements_.size();) {
    const std::size_t end = std::min(map.replacements_.find('\0', begin), map.replacements_.size());
    if (end - begin > kMaxReplacement) {
      return Status{Code::kInvalidArgument, "normalisation table: a replacement has " +
                                                std::to_string(end - begin) + " bytes, at most " +
                                                std::to_string(kMaxReplacement)};
    }
    begin = end + 1;
  }
  return map;
}

Charsmap::Match Charsmap::longest_match(std::string_view text) const {
  return match(text, true);
}

Charsmap::Match Charsmap::shortest_match(std::string_view text) const {
  return match(text, false);
}

Charsmap::Match Charsmap::match(std::string_view text, bool longest) const {
  Match best;
  if (units_.empty()) {
    return best;
  }
  std::size_t at = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    at ^= c;
    if (c == 0 || at >= units_.size() || label_of(units_[at]) != c) {
      break;
    }
    const std::uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_leaf(unit) || at >= units_.size()) {
      continue;
    }
    const std::size_t begin = value_of(units_[at]);
    if (begin < replacements_.size()) {
      const std::string_view rest = std::string_view(replacements_).substr(begin);
      best = {i + 1, rest.substr(0, rest.find('\0'))};
      if (!longest) {
        break;
      }
    }
  }
  return best;
}

}  // namespace plumb
