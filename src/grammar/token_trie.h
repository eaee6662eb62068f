// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace plumb {

/// The byte strings of a vocabulary as a tree in one array, in depth-first order: the children of a
/// node follow it, and `end` leads past its subtree.
///
/// Tokens of equal bytes are one entry. Empty strings have no node.
/// Thread  any (immutable).
class TokenTrie {
 public:
  struct Node {
    std::uint32_t end = 0;          ///< index of the next node outside this subtree
    std::uint32_t first_entry = 0;  ///< of the entries in this subtree, or of those after it
    std::uint32_t depth : 24;       ///< bytes from the root; >= 1
    std::uint32_t byte : 8;
  };

  /// token_bytes[id]; an empty string stands for a token that is never allowed.
  explicit TokenTrie(std::span<const std::string> token_bytes);

  std::span<const Node> nodes() const { return nodes_; }

  /// The part of the tree that leads to tokens of more than kDeep bytes: such a node, and past its
  /// subtree in this list.
  struct DeepNode {
    std::uint32_t node = 0;
    std::uint32_t end = 0;
  };

  static constexpr std::uint32_t kDeep = 16;

  std::span<const DeepNode> deep_nodes() const { return deep_nodes_; }

  /// Whether the path to the node is a token: then it is entry first_entry.
  bool is_token(std::uint32_t node) const { return is_token_[node] != 0; }

  /// The tokens of an entry.
  std::span<const TokenId> tokens(std::uint32_t entry) const {
    return std::span(tokens_).subspan(token_begin_[entry],
                                      token_begin_[entry + 1] - token_begin_[entry]);
  }

  /// The bytes from the root to the node, which the node's byte ends.
  std::string_view path(std::uint32_t node) const {
    return std::string_view(texts_[nodes_[node].first_entry]).substr(0, nodes_[node].depth);
  }

  /// The node that the bytes lead to, if any token begins with them. Requires they are not empty.
  std::optional<std::uint32_t> find(std::string_view bytes) const;

  std::uint32_t max_depth() const { return max_depth_; }

  std::int64_t num_entries() const { return static_cast<std::int64_t>(texts_.size()); }

 private:
  void find_deep_nodes();

  std::vector<Node> nodes_;
  std::vector<DeepNode> deep_nodes_;
  std::vector<std::uint8_t> is_token_;
  std::vector<std::string> texts_;          // by entry, rising
  std::vector<std::uint32_t> token_begin_;  // by entry, one more at the end
  std::vector<TokenId> tokens_;
  std::uint32_t max_depth_ = 0;
};

}  // namespace plumb
