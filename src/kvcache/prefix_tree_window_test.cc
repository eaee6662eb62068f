// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <numeric>

#include "kvcache/prefix_tree.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

Tokens count_to(std::int64_t end) {
  Tokens tokens(static_cast<std::size_t>(end));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

// A sequence that computes and stores as the engine lets it.
struct Seq {
  std::vector<BlockId> table;
  std::vector<BlockRef> owned;
  WindowBlocks window;
  PrefixLock lock;
};

struct WindowCache {
  explicit WindowCache(std::int64_t window_tokens, std::int64_t block_size = 1,
                       EvictStrategy strategy = EvictStrategy::kLru)
      : window(window_tokens),
        size(block_size),
        pool(100),
        window_pool(100),
        tree(block_size, strategy, nullptr, window_tokens) {}

  // Takes blocks for tokens and stores them, those before `begin` without their window parts.
  void store(Seq* seq, const Tokens& tokens, std::int64_t begin = 0) {
    while (std::ssize(seq->table) * size < std::ssize(tokens)) {
      seq->owned.push_back(pool.take().value());
      seq->table.push_back(seq->owned.back().id());
      if (std::ssize(seq->window.table) >= begin) {
        seq->window.owned.push_back(window_pool.take().value());
        seq->window.table.push_back(seq->window.owned.back().id());
      } else {
        seq->window.table.emplace_back();
      }
    }
    tree.release_window(&seq->lock, begin);
    seq->window.begin = begin;
    seq->lock = tree.insert("", tokens, &seq->table, &seq->owned, {}, &seq->window);
  }

  void store(const Tokens& tokens, std::int64_t begin = 0) {
    Seq seq;
    store(&seq, tokens, begin);
  }

  Seq match(const Tokens& tokens) {
    Seq seq;
    const PrefixPeek peek = tree.peek("", tokens);
    const std::int64_t window_before = tree.num_evictable_window_blocks();
    const std::int64_t before = tree.num_evictable_blocks();
    seq.lock = tree.match("", tokens, &seq.table, true, &seq.window);
    EXPECT_EQ(std::ssize(seq.table) * size, peek.num_tokens);
    EXPECT_EQ(before - tree.num_evictable_blocks(), peek.num_evictable.full);
    EXPECT_EQ(window_before - tree.num_evictable_window_blocks(), peek.num_evictable.window);
    return seq;
  }

  std::int64_t cached(const Tokens& tokens) const { return tree.peek("", tokens).num_tokens; }

  void expect_sound(std::int64_t num_locks = 0, std::int64_t num_uses = 0) const {
    EXPECT_EQ(tree.check_invariants(num_locks, num_uses).message(), "");
    EXPECT_EQ(pool.num_leased(), tree.num_blocks());
    EXPECT_EQ(window_pool.num_leased(), tree.num_window_blocks());
  }

  std::int64_t window;
  std::int64_t size;
  BlockPool pool;
  BlockPool window_pool;
  PrefixTree tree;
};

// Nodes of 10, 6 (its window parts gone), 5 and 4 tokens under a window of 8.
void store_with_gap(WindowCache* cache, std::int64_t end) {
  Seq seq;
  cache->store(&seq, count_to(10));
  cache->store(&seq, count_to(16), 16);
  cache->store(&seq, count_to(21), 16);
  cache->store(&seq, count_to(end), 16);
}

TEST(PrefixWindow, a_prefix_is_usable_where_the_window_before_its_end_is_whole) {
  WindowCache whole(8);
  store_with_gap(&whole, 25);
  EXPECT_EQ(whole.tree.num_nodes(), 4);
  EXPECT_EQ(whole.tree.num_window_blocks(), 10 + 5 + 4);
  EXPECT_EQ(whole.cached(count_to(25)), 25);  // 9 whole before its end
  EXPECT_FALSE(whole.tree.peek("", count_to(25)).is_cut);
  EXPECT_EQ(whole.cached(count_to(24)), 24);
  WindowCache cut(8);
  store_with_gap(&cut, 23);
  EXPECT_EQ(cut.cached(count_to(23)), 10);  // 7 are too few: back to before the gap
  EXPECT_TRUE(cut.tree.peek("", count_to(23)).is_cut);
  EXPECT_EQ(cut.match(count_to(23)).table.size(), 10U);
  EXPECT_EQ(cut.cached(count_to(12)), 10);
  EXPECT_EQ(cut.cached(count_to(3)), 3);
  cut.expect_sound();
}

TEST(PrefixWindow, a_match_protects_all_blocks_and_the_window_parts_of_the_last) {
  WindowCache cache(8);
  cache.store(count_to(30));
  Seq seq = cache.match(count_to(20));
  EXPECT_EQ(seq.window.begin, 12);
  EXPECT_EQ(cache.tree.num_protected_blocks(), 20);
  EXPECT_EQ(cache.tree.num_evictable_window_blocks(), 22);
  cache.expect_sound(1, 8);
  EXPECT_EQ(cache.tree.num_exclusive_window_blocks(seq.lock), 8);
  const Seq second = cache.match(count_to(15));
  EXPECT_EQ(second.window.begin, 7);
  EXPECT_EQ(cache.tree.num_exclusive_window_blocks(seq.lock), 5);
  cache.expect_sound(2, 16);
  EXPECT_EQ(cache.tree.evict_window(100), 7 + 10);  // the tail's ten go as a whole
  EXPECT_EQ(cache.tree.num_blocks(), 20);
  cache.expect_sound(2, 16);
  // As the sequence goes on, it sees less of the prefix.
  cache.tree.release_window(&seq.lock, 17);
  EXPECT_EQ(cache.tree.num_evictable_window_blocks(), 2);
  EXPECT_EQ(cache.tree.evict_window(100), 2);
  cache.expect_sound(2, 3 + 8);
  cache.tree.release_window(&seq.lock, 99);
  EXPECT_EQ(cache.tree.evict_window(100), 3);  // tombstones in a leaf that is in use
  EXPECT_EQ(cache.tree.num_blocks(), 20);
  cache.expect_sound(2, 8);
}

TEST(PrefixWindow, evicting_window_parts_leaves_the_end_of_a_leaf_usable) {
  WindowCache cache(8, 2);
  cache.store(count_to(40));
  EXPECT_EQ(cache.tree.evict_window(7), 7);
  EXPECT_EQ(cache.tree.num_blocks(), 20);
  EXPECT_EQ(cache.tree.num_window_blocks(), 13);
  EXPECT_EQ(cache.cached(count_to(40)), 40);
  EXPECT_EQ(cache.cached(count_to(22)), 22);
  EXPECT_EQ(cache.cached(count_to(20)), 0);  // of its window a part is gone
  EXPECT_EQ(cache.tree.evict_window(9), 9);
  EXPECT_EQ(cache.cached(count_to(40)), 40);
  EXPECT_EQ(cache.cached(count_to(38)), 0);
  cache.expect_sound();
  // Beyond that the leaf is of no use: it goes from its end, and at last with what had tombstones.
  EXPECT_EQ(cache.tree.evict_window(1), 1);
  EXPECT_EQ(cache.tree.num_blocks(), 19);
  EXPECT_EQ(cache.tree.evict_window(100), 3);
  EXPECT_EQ(cache.tree.num_blocks(), 0);
  EXPECT_EQ(cache.tree.num_nodes(), 0);
  cache.expect_sound();
}

TEST(PrefixWindow, nodes_anywhere_lose_their_window_parts_in_the_order_of_the_strategy) {
  WindowCache cache(4);
  cache.store(count_to(6));
  cache.store({0, 1, 2, 3, 4, 5, 60, 61, 62, 63, 64, 65});
  cache.store({0, 1, 2, 3, 4, 5, 70, 71, 72, 73, 74, 75});
  cache.match({0, 1, 2, 3, 4, 5, 60, 61, 62, 63, 64, 65});
  EXPECT_EQ(cache.tree.evict_window(2), 2);  // of the branch of 70: two of six are to spare
  EXPECT_EQ(cache.cached({0, 1, 2, 3, 4, 5, 70, 71, 72, 73, 74, 75}), 12);
  EXPECT_EQ(cache.tree.num_blocks(), 18);
  EXPECT_EQ(cache.tree.evict_window(4), 4);  // all of it: a leaf
  EXPECT_EQ(cache.tree.num_blocks(), 12);
  EXPECT_EQ(cache.tree.evict_window(6), 6);  // the stem, before what stands on it
  EXPECT_EQ(cache.tree.num_blocks(), 12);
  EXPECT_EQ(cache.cached(count_to(6)), 0);
  EXPECT_EQ(cache.cached({0, 1, 2, 3, 4, 5, 60, 61, 62, 63}), 10);
  cache.expect_sound();
  EXPECT_EQ(cache.tree.evict(1), 1);
  EXPECT_EQ(cache.tree.evict_window(100), 5);  // and the stem, which nothing stands on any more
  EXPECT_EQ(cache.tree.num_blocks(), 0);
  cache.expect_sound();
}

TEST(PrefixWindow, what_is_computed_again_takes_the_place_of_tombstones) {
  WindowCache cache(4);
  store_with_gap(&cache, 25);
  EXPECT_EQ(cache.tree.num_blocks() - cache.tree.num_window_blocks(), 6);
  Seq seq = cache.match(count_to(18));
  EXPECT_EQ(seq.table.size(), 10U);
  const std::vector<BlockId> stem = seq.table;
  cache.store(&seq, count_to(18), 6);
  EXPECT_EQ(std::vector<BlockId>(seq.table.begin(), seq.table.begin() + 10), stem);
  EXPECT_EQ(seq.owned.size(), 0U);
  EXPECT_EQ(seq.window.owned.size(), 0U);
  EXPECT_EQ(cache.tree.num_blocks(), 25);  // none twice
  EXPECT_EQ(cache.tree.num_window_blocks(), 25);
  EXPECT_EQ(cache.cached(count_to(14)), 14);
  cache.expect_sound(1, 12);
}

TEST(PrefixWindow, a_tail_is_copied_from_blocks_that_are_whole_only) {
  WindowCache cache(8, 4);
  Seq seq;
  cache.store(&seq, count_to(12));
  cache.store(&seq, count_to(24), 1);
  const Seq at = cache.match(count_to(12));
  const PrefixTail whole = cache.tree.find_tail("", at.lock, Tokens{12, 13, 99});
  EXPECT_EQ(whole.num_tokens, 2);
  EXPECT_EQ(whole.block, seq.table[3]);
  EXPECT_EQ(whole.window_block, seq.window.table[3]);
  WindowCache other(8, 4);
  Seq gone;
  other.store(&gone, count_to(12));
  other.store(&gone, count_to(24), 4);  // the second node is whole from its second block on
  const Seq stem = other.match(count_to(12));
  EXPECT_EQ(stem.table.size(), 3U);
  EXPECT_EQ(other.tree.find_tail("", stem.lock, Tokens{12, 13, 99}).num_tokens, 0);
}

TEST(PrefixWindow, a_window_below_a_block_and_a_tree_without_windows_are_sound) {
  WindowCache tiny(1, 4);
  tiny.store(count_to(9));
  EXPECT_EQ(tiny.match(count_to(8)).window.begin, 1);
  tiny.expect_sound();
  Seq seq = tiny.match(count_to(8));
  tiny.store(&seq, count_to(15), 3);  // three full blocks, all behind the window
  EXPECT_EQ(tiny.tree.num_blocks(), 3);
  EXPECT_EQ(tiny.tree.check_invariants(1, 0).message(), "");
  seq = Seq();
  EXPECT_EQ(tiny.tree.num_blocks(), 2);  // a leaf that has none is forgotten
  tiny.expect_sound();
  WindowCache none(0);
  Seq plain;
  plain.owned.push_back(none.pool.take().value());
  plain.table.push_back(plain.owned.back().id());
  plain.lock = none.tree.insert("", Tokens{1}, &plain.table, &plain.owned, {});
  EXPECT_EQ(none.tree.evict_window(5), 0);
  EXPECT_EQ(none.tree.num_window_blocks(), 0);
  none.expect_sound(1);
}

}  // namespace
}  // namespace plumb
