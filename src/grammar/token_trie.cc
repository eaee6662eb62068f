// SPDX-License-Identifier: Apache-2.0
#include "grammar/token_trie.h"

#include <algorithm>
#include <numeric>

namespace plumb {

TokenTrie::TokenTrie(std::span<const std::string> token_bytes) {
  std::vector<TokenId> order;
  for (std::size_t id = 0; id < token_bytes.size(); ++id) {
    if (!token_bytes[id].empty()) {
      order.push_back(static_cast<TokenId>(id));
    }
  }
  const auto text_of = [&](TokenId id) -> const std::string& {
    return token_bytes[static_cast<std::size_t>(id)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](TokenId a, TokenId b) { return text_of(a) < text_of(b); });
  std::vector<std::uint32_t> open;  // the path to the latest node
  for (const TokenId id : order) {
    const std::string& text = text_of(id);
    const bool is_new = texts_.empty() || texts_.back() != text;
    if (is_new) {
      const std::string_view last = texts_.empty() ? std::string_view() : texts_.back();
      const auto common = static_cast<std::size_t>(
          std::mismatch(last.begin(), last.end(), text.begin(), text.end()).first - last.begin());
      for (; open.size() > common; open.pop_back()) {
        nodes_[open.back()].end = static_cast<std::uint32_t>(nodes_.size());
      }
      for (std::size_t i = common; i < text.size(); ++i) {
        open.push_back(static_cast<std::uint32_t>(nodes_.size()));
        nodes_.push_back({.end = 0,
                          .first_entry = static_cast<std::uint32_t>(texts_.size()),
                          .depth = static_cast<std::uint32_t>(i + 1) & 0xFFFFFFU,
                          .byte = static_cast<std::uint8_t>(text[i])});
        is_token_.push_back(0);
      }
      is_token_.back() = 1;
      max_depth_ = std::max(max_depth_, static_cast<std::uint32_t>(text.size()));
      token_begin_.push_back(static_cast<std::uint32_t>(tokens_.size()));
      texts_.push_back(text);
    }
    tokens_.push_back(id);
  }
  for (const std::uint32_t node : open) {
    nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
  }
  token_begin_.push_back(static_cast<std::uint32_t>(tokens_.size()));
}

}  // namespace plumb
