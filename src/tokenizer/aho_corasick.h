// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace plumb {

/// Finds many strings at once in a byte stream: a trie with suffix links.
///
/// A state is the longest suffix of the bytes read that is a prefix of some pattern.
/// Thread: any (immutable). Cost: next() is amortised O(1) times the search in one node's edges.
/// Source: Aho and Corasick, Communications of the ACM 18 (1975).
class AhoCorasick {
 public:
  static constexpr std::int32_t kRoot = 0;
  static constexpr std::int32_t kNone = -1;

  /// Empty patterns never match; of equal patterns the first one is reported.
  explicit AhoCorasick(const std::vector<std::string_view>& patterns);

  AhoCorasick() : AhoCorasick(std::vector<std::string_view>{}) {}

  bool empty() const { return nodes_.size() == 1; }

  std::int32_t next(std::int32_t state, unsigned char byte) const;

  /// The trie edge alone, without following suffix links; kNone if there is none.
  std::int32_t child(std::int32_t state, unsigned char byte) const;

  std::int32_t depth(std::int32_t state) const { return node(state).depth; }

  /// The longest pattern that is a suffix of the state, as the state at which it ends; kNone if
  /// there is none. Its depth is the length of the pattern.
  std::int32_t match(std::int32_t state) const {
    return node(state).pattern >= 0 ? state : node(state).shorter_match;
  }

  /// The next shorter pattern that ends where `match` ends.
  std::int32_t shorter_match(std::int32_t match) const { return node(match).shorter_match; }

  /// Position in the constructor's list of the pattern that is exactly this state; kNone if none.
  std::int32_t pattern(std::int32_t state) const { return node(state).pattern; }

 private:
  struct Node {
    std::int32_t first_edge = 0;
    std::int32_t num_edges = 0;
    std::int32_t suffix = kRoot;
    std::int32_t shorter_match = kNone;
    std::int32_t pattern = kNone;
    std::int32_t depth = 0;
  };

  struct Edge {
    unsigned char byte;
    std::int32_t target;
  };

  const Node& node(std::int32_t state) const { return nodes_[static_cast<std::size_t>(state)]; }

  void link_suffixes();

  std::vector<Node> nodes_;  // breadth-first, so a suffix has a smaller index
  std::vector<Edge> edges_;  // of one node: adjacent, by rising byte
  std::array<std::int32_t, 256> root_edges_{};
};

}  // namespace plumb
