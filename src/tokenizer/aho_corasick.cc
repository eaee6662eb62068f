// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/aho_corasick.h"

#include <algorithm>
#include <numeric>

namespace plumb {
namespace {

// A node under construction: the sorted patterns [begin, end) share their first `depth` bytes.
struct Range {
  std::int32_t begin;
  std::int32_t end;
};

}  // namespace

AhoCorasick::AhoCorasick(const std::vector<std::string_view>& patterns) {
  std::vector<std::int32_t> order(patterns.size());
  std::iota(order.begin(), order.end(), 0);
  const auto text = [&](std::int32_t sorted_idx) {
    return patterns[static_cast<std::size_t>(order[static_cast<std::size_t>(sorted_idx)])];
  };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return patterns[static_cast<std::size_t>(a)] < patterns[static_cast<std::size_t>(b)];
  });
  std::vector<Range> ranges{{0, static_cast<std::int32_t>(patterns.size())}};
  nodes_.emplace_back();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Range range = ranges[n];
    const std::int32_t depth = nodes_[n].depth;
    const auto at = static_cast<std::size_t>(depth);
    while (range.begin < range.end && text(range.begin).size() == at) {
      if (nodes_[n].pattern == kNone && depth > 0) {
        nodes_[n].pattern = order[static_cast<std::size_t>(range.begin)];
      }
      ++range.begin;
    }
    nodes_[n].first_edge = static_cast<std::int32_t>(edges_.size());
    while (range.begin < range.end) {
      const auto byte = static_cast<unsigned char>(text(range.begin)[at]);
      std::int32_t end = range.begin;
      while (end < range.end && static_cast<unsigned char>(text(end)[at]) == byte) {
        ++end;
      }
      edges_.push_back({byte, static_cast<std::int32_t>(nodes_.size())});
      nodes_.push_back({.depth = depth + 1});
      ranges.push_back({range.begin, end});
      ++nodes_[n].num_edges;
      range.begin = end;
    }
  }
  link_suffixes();
}

void AhoCorasick::link_suffixes() {
  for (std::int32_t e = 0; e < nodes_[0].num_edges; ++e) {
    const Edge& edge = edges_[static_cast<std::size_t>(e)];
    root_edges_[edge.byte] = edge.target;
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node parent = nodes_[n];
    for (std::int32_t e = 0; e < parent.num_edges; ++e) {
      const Edge edge = edges_[static_cast<std::size_t>(parent.first_edge + e)];
      Node& target = nodes_[static_cast<std::size_t>(edge.target)];
      target.suffix = n == 0 ? kRoot : next(parent.suffix, edge.byte);
      target.shorter_match = match(target.suffix);
    }
  }
}

std::int32_t AhoCorasick::child(std::int32_t state, unsigned char byte) const {
  if (state == kRoot) {
    return root_edges_[byte] == 0 ? kNone : root_edges_[byte];
  }
  const Node& from = node(state);
  const auto begin = edges_.begin() + from.first_edge;
  const auto end = begin + from.num_edges;
  const auto at = std::lower_bound(
      begin, end, byte, [](const Edge& edge, unsigned char wanted) { return edge.byte < wanted; });
  return at != end && at->byte == byte ? at->target : kNone;
}

std::int32_t AhoCorasick::next(std::int32_t state, unsigned char byte) const {
  while (state != kRoot) {
    if (const std::int32_t target = child(state, byte); target != kNone) {
      return target;
    }
    state = node(state).suffix;
  }
  return root_edges_[byte];
}

}  // namespace plumb
