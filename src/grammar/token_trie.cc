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
  find_deep_nodes();
}

void TokenTrie::find_deep_nodes() {
  std::vector<bool> is_deep(nodes_.size(), false);
  std::vector<std::uint32_t> path(max_depth_ + 1, 0);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    path[nodes_[i].depth] = i;
    if (nodes_[i].depth == kDeep + 1) {
      for (std::uint32_t depth = 1; depth <= kDeep; ++depth) {
        is_deep[path[depth]] = true;
      }
    }
    is_deep[i] = nodes_[i].depth > kDeep;
  }
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!is_deep[i]) {
      continue;
    }
    for (; !open.empty() && nodes_[deep_nodes_[open.back()].node].end <= i; open.pop_back()) {
      deep_nodes_[open.back()].end = static_cast<std::uint32_t>(deep_nodes_.size());
    }
    open.push_back(static_cast<std::uint32_t>(deep_nodes_.size()));
    deep_nodes_.push_back({i, 0});
  }
  for (const std::uint32_t index : open) {
    deep_nodes_[index].end = static_cast<std::uint32_t>(deep_nodes_.size());
  }
}

std::optional<std::uint32_t> TokenTrie::find(std::string_view bytes) const {
  std::uint32_t node = 0;
  std::uint32_t end = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    while (node < end && nodes_[node].byte != byte) {
      node = nodes_[node].end;
    }
    if (node >= end) {
      return std::nullopt;
    }
    if (i + 1 < bytes.size()) {
      end = nodes_[node].end;
      ++node;
    }
  }
  return node;
}

}  // namespace plumb
