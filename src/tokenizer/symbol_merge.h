// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tokenizer/merge_queue.h"
#include "tokenizer/merge_table.h"

namespace plumb {

/// A piece of text on its way to a token.
struct Symbol {
  std::int32_t id;      ///< meaning belongs to the model; -1 = none
  std::uint32_t begin;  ///< bytes [begin, end) of the piece
  std::uint32_t end;
  std::int32_t rank = Merge::kNoRank;  ///< of the merge with the next symbol
  std::int32_t result = -1;            ///< id after that merge
};

/// Memory that one encode call reuses from piece to piece.
struct MergeScratch {
  std::vector<Symbol> symbols;
  MergeQueue queue;
  std::vector<std::int32_t> previous;
  std::vector<std::int32_t> next;
};

namespace merge_internal {

template <class PairMerge>
void rate(Symbol* left, const Symbol& right, const PairMerge& pair_merge) {
  const Merge merge = pair_merge(*left, right);
  left->rank = merge.rank;
  left->result = merge.result;
}

inline void join(Symbol* left, const Symbol& right) {
  left->id = left->result;
  left->end = right.end;
  left->rank = Merge::kNoRank;
}

template <class PairMerge>
void merge_few(std::vector<Symbol>* list, const PairMerge& pair_merge) {
  std::vector<Symbol>& s = *list;
  while (s.size() > 1) {
    const auto best = std::min_element(
        s.begin(), s.end() - 1, [](const Symbol& a, const Symbol& b) { return a.rank < b.rank; });
    if (best->rank == Merge::kNoRank) {
      return;
    }
    join(&*best, *(best + 1));
    s.erase(best + 1);
    if (best + 1 != s.end()) {
      rate(&*best, *(best + 1), pair_merge);
    }
    if (best != s.begin()) {
      rate(&*(best - 1), *best, pair_merge);
    }
  }
}

// The queue holds rank << 32 | position. An entry is alive while the symbol at that position still
// has that rank; merged-away symbols have no rank.
template <class PairMerge>
void merge_many(MergeScratch* scratch, const PairMerge& pair_merge) {
  std::vector<Symbol>& s = scratch->symbols;
  const auto num = static_cast<std::int32_t>(s.size());
  const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  const auto key = [&](std::int32_t i) {
    return (static_cast<std::uint64_t>(s[at(i)].rank) << 32) | static_cast<std::uint32_t>(i);
  };
  scratch->next.resize(s.size());
  scratch->previous.resize(s.size());
  std::vector<std::uint64_t>* keys = scratch->queue.restart();
  for (std::int32_t i = 0; i < num; ++i) {
    scratch->next[at(i)] = i + 1;
    scratch->previous[at(i)] = i - 1;
    if (s[at(i)].rank != Merge::kNoRank) {
      keys->push_back(key(i));
    }
  }
  scratch->queue.start();
  const auto enqueue = [&](std::int32_t i, std::int32_t right) {
    rate(&s[at(i)], s[at(right)], pair_merge);
    if (s[at(i)].rank != Merge::kNoRank) {
      scratch->queue.push(key(i));
    }
  };
  for (std::uint64_t top = scratch->queue.pop(); top != MergeQueue::kEmpty;
       top = scratch->queue.pop()) {
    const auto i = static_cast<std::int32_t>(top & UINT32_MAX);
    if (s[at(i)].rank != static_cast<std::int32_t>(top >> 32)) {
      continue;
    }
    const std::int32_t right = scratch->next[at(i)];
    const std::int32_t after = scratch->next[at(right)];
    join(&s[at(i)], s[at(right)]);
    s[at(right)].rank = Merge::kNoRank;
    scratch->next[at(i)] = after;
    if (after < num) {
      scratch->previous[at(after)] = i;
      enqueue(i, after);
    }
    if (const std::int32_t before = scratch->previous[at(i)]; before >= 0) {
      enqueue(before, i);
    }
  }
  std::size_t kept = 0;
  for (std::int32_t i = 0; i < num; i = scratch->next[at(i)]) {
    s[kept++] = s[at(i)];
  }
  s.resize(kept);
}

}  // namespace merge_internal

/// Merges neighbouring symbols of scratch->symbols, always the pair of lowest rank, leftmost on
/// ties, until no pair has a merge.
///
/// pair_merge(left, right) gives the Merge of two symbols. Requires fewer than 2^31 symbols.
/// Cost: O(n log n).
template <class PairMerge>
void merge_symbols(MergeScratch* scratch, const PairMerge& pair_merge) {
  constexpr std::size_t kFew = 48;  // below it a plain scan beats the queue
  std::vector<Symbol>& s = scratch->symbols;
  for (std::size_t i = 0; i + 1 < s.size(); ++i) {
    merge_internal::rate(&s[i], s[i + 1], pair_merge);
  }
  if (s.size() <= kFew) {
    merge_internal::merge_few(&s, pair_merge);
  } else {
    merge_internal::merge_many(scratch, pair_merge);
  }
}

}  // namespace plumb
