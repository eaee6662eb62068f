// SPDX-License-Identifier: Apache-2.0
#include "kvcache/prefix_tree.h"

#include <gtest/gtest.h>
#include <numeric>

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

// A pool and a tree, and what a sequence does with them.
struct Cache {
  explicit Cache(std::int64_t block_size = 1, EvictStrategy strategy = EvictStrategy::kLru,
                 std::int64_t num_blocks = 100)
      : size(block_size), pool(num_blocks), tree(block_size, strategy) {}

  // Computes all of `tokens` anew and stores them; returns the block table.
  std::vector<BlockId> store(const Tokens& tokens, PrefixLock* lock = nullptr,
                             const PrefixOwner& owner = {}, std::string_view ns = "") {
    std::vector<BlockId> blocks;
    std::vector<BlockRef> owned;
    for (std::int64_t i = 0; i < num_blocks_for(std::ssize(tokens), size); ++i) {
      owned.push_back(pool.take().value());
      blocks.push_back(owned.back().id());
    }
    PrefixLock stored = tree.insert(ns, tokens, &blocks, &owned, owner);
    if (lock != nullptr) {
      *lock = std::move(stored);
    }
    return blocks;
  }

  std::int64_t match(const Tokens& tokens, PrefixLock* lock = nullptr) {
    std::vector<BlockId> blocks;
    PrefixLock found = tree.match("", tokens, &blocks);
    if (lock != nullptr) {
      *lock = std::move(found);
    }
    return std::ssize(blocks) * size;
  }

  std::int64_t cached(const Tokens& tokens, std::string_view ns = "") const {
    return tree.peek(ns, tokens).num_tokens;
  }

  void expect_sound(std::int64_t num_locks = 0) const {
    EXPECT_EQ(tree.check_invariants(num_locks).message(), "");
    EXPECT_EQ(pool.check_invariants().message(), "");
  }

  std::int64_t size;
  BlockPool pool;
  PrefixTree tree;
};

TEST(PrefixTree, a_shared_beginning_becomes_one_node_with_two_children) {
  Cache cache;
  const std::vector<BlockId> first = cache.store({1, 2, 3});
  EXPECT_EQ(cache.tree.num_nodes(), 1);
  const std::vector<BlockId> second = cache.store({1, 2, 4, 5});
  EXPECT_EQ(cache.tree.num_nodes(), 3);  // [1 2] -> {[3], [4 5]}
  EXPECT_EQ(cache.tree.num_blocks(), 5);
  EXPECT_EQ(first[0], second[0]);  // the duplicates of 1 2 went back
  EXPECT_EQ(first[1], second[1]);
  EXPECT_EQ(cache.pool.num_leased(), 5);

  EXPECT_EQ(cache.match({1, 2, 4, 9}), 3);
  EXPECT_EQ(cache.tree.num_nodes(), 4);  // [4 5] is [4] -> [5]

  cache.store({1, 2, 4, 5, 6, 7});
  EXPECT_EQ(cache.tree.num_nodes(), 5);  // and [6 7]
  EXPECT_EQ(cache.tree.num_blocks(), 7);
  EXPECT_EQ(cache.cached({1, 2, 4, 5, 6, 7, 8}), 6);
  cache.expect_sound();
}

TEST(PrefixTree, only_whole_blocks_are_stored_and_found) {
  Cache cache(2);
  cache.store({1, 2, 3});
  EXPECT_EQ(cache.tree.num_blocks(), 1);
  EXPECT_EQ(cache.pool.num_leased(), 1);  // the half block went back with its sequence
  EXPECT_EQ(cache.cached({1, 2, 3, 4}), 2);
  EXPECT_EQ(cache.cached({1, 3}), 0);  // the block differs
  EXPECT_EQ(cache.cached({1}), 0);
  EXPECT_EQ(cache.cached({}), 0);
  cache.expect_sound();
}

TEST(PrefixTree, a_match_returns_the_blocks_in_order_and_protects_them) {
  Cache cache(2);
  const std::vector<BlockId> stored = cache.store({1, 2, 3, 4, 5, 6});
  std::vector<BlockId> blocks;
  PrefixLock lock = cache.tree.match("", Tokens{1, 2, 3, 4, 9, 9}, &blocks);
  EXPECT_EQ(blocks, std::vector<BlockId>(stored.begin(), stored.begin() + 2));
  EXPECT_EQ(cache.tree.num_protected_blocks(), 2);
  EXPECT_EQ(cache.tree.num_evictable_blocks(), 1);
  EXPECT_EQ(cache.tree.evict(100), 1);
  cache.expect_sound(1);
  lock = PrefixLock();
  EXPECT_EQ(cache.tree.num_evictable_blocks(), 2);
  cache.expect_sound();
}

TEST(PrefixTree, a_sequence_extends_what_it_stored_before) {
  Cache cache(2);
  std::vector<BlockId> blocks;
  std::vector<BlockRef> owned;
  for (int i = 0; i < 3; ++i) {
    owned.push_back(cache.pool.take().value());
    blocks.push_back(owned.back().id());
  }
  const std::vector<BlockId> table = blocks;
  PrefixLock lock = cache.tree.insert("", Tokens{1, 2, 3}, &blocks, &owned, {});
  EXPECT_EQ(owned.size(), 2U);
  lock = cache.tree.insert("", Tokens{1, 2, 3, 4, 5}, &blocks, &owned, {});
  EXPECT_EQ(owned.size(), 1U);
  EXPECT_EQ(blocks, table);
  EXPECT_EQ(cache.tree.num_protected_blocks(), 2);
  EXPECT_EQ(cache.tree.num_exclusive_blocks(lock), 2);
  cache.expect_sound(1);
  lock = cache.tree.insert("", Tokens{1, 2, 3, 4, 5}, &blocks, &owned, {});  // nothing new
  EXPECT_EQ(owned.size(), 1U);
  EXPECT_EQ(blocks, table);
  cache.expect_sound(1);
}

TEST(PrefixTree, storing_what_another_sequence_stored_meanwhile_renames_the_blocks) {
  Cache cache(2);
  std::vector<BlockId> mine;
  std::vector<BlockRef> owned;
  for (int i = 0; i < 3; ++i) {
    owned.push_back(cache.pool.take().value());
    mine.push_back(owned.back().id());
  }
  const std::vector<BlockId> theirs = cache.store({1, 2, 3, 4});
  const BlockId tail = mine[2];
  const PrefixLock lock = cache.tree.insert("", Tokens{1, 2, 3, 4, 5, 6}, &mine, &owned, {});
  EXPECT_EQ(mine, (std::vector<BlockId>{theirs[0], theirs[1], tail}));
  EXPECT_TRUE(owned.empty());
  EXPECT_EQ(cache.pool.num_leased(), 3);
  cache.expect_sound(1);
}

TEST(PrefixTree, namespaces_share_nothing) {
  Cache cache;
  cache.store({1, 2, 3}, nullptr, {}, "a");
  EXPECT_EQ(cache.cached({1, 2, 3}, "a"), 3);
  EXPECT_EQ(cache.cached({1, 2, 3}, "b"), 0);
  EXPECT_EQ(cache.cached({1, 2, 3}), 0);
  const std::vector<BlockId> in_b = cache.store({1, 2, 3}, nullptr, {}, "b");
  EXPECT_EQ(cache.tree.num_blocks(), 6);
  EXPECT_EQ(cache.tree.evict(6), 6);
  cache.expect_sound();
}

TEST(PrefixTree, peek_tells_which_blocks_nobody_holds) {
  Cache cache;
  PrefixLock lock;
  cache.store({1, 2, 3}, &lock);
  cache.store({1, 2, 3, 4, 5});
  EXPECT_EQ(cache.tree.peek("", Tokens{1, 2, 3, 4, 9}).num_evictable.full, 1);
  EXPECT_EQ(cache.tree.peek("", Tokens{1, 2, 9}).num_evictable.full, 0);
  lock = PrefixLock();
  EXPECT_EQ(cache.tree.peek("", Tokens{1, 2, 3, 4, 9}).num_evictable.full, 4);
}

// root -> A (4 blocks) -> {B (2), C (3)}, D (5); created and used in the order of the arguments.
struct FourNodes {
  explicit FourNodes(EvictStrategy strategy, std::int64_t block_size = 1)
      : cache(block_size, strategy) {}

  Tokens a{1, 2, 3, 4};
  Tokens b{1, 2, 3, 4, 10, 11};
  Tokens c{1, 2, 3, 4, 20, 21, 22};
  Tokens d{30, 31, 32, 33, 34};
  Cache cache;
};

TEST(PrefixTreeEviction, lru_takes_leaves_then_the_parent_that_became_a_leaf) {
  FourNodes t(EvictStrategy::kLru);
  PrefixLock lock_d;
  t.cache.store(t.d, &lock_d);
  t.cache.store(t.b);
  t.cache.store(t.c);
  EXPECT_EQ(t.cache.tree.num_evictable_blocks(), 9);
  EXPECT_EQ(t.cache.tree.evict(2), 2);
  EXPECT_EQ(t.cache.cached(t.b), 4);
  EXPECT_EQ(t.cache.cached(t.c), 7);
  EXPECT_EQ(t.cache.tree.evict(4), 4);  // C, then one block off the tail of A
  EXPECT_EQ(t.cache.cached(t.c), 3);
  EXPECT_EQ(t.cache.tree.evict(100), 3);
  EXPECT_EQ(t.cache.cached(t.d), 5);
  t.cache.expect_sound(1);
}

TEST(PrefixTreeEviction, one_call_frees_exactly_what_is_wanted_across_the_cascade) {
  FourNodes t(EvictStrategy::kLru);
  PrefixLock lock_d;
  t.cache.store(t.d, &lock_d);
  t.cache.store(t.b);
  t.cache.store(t.c);
  EXPECT_EQ(t.cache.tree.evict(6), 6);  // B, C, and one block off the tail of A
  EXPECT_EQ(t.cache.cached(t.b), 3);
  EXPECT_EQ(t.cache.cached(t.c), 3);
  EXPECT_EQ(t.cache.cached(t.d), 5);
  t.cache.expect_sound(1);
}

TEST(PrefixTreeEviction, a_request_that_starts_again_is_no_second_reuse) {
  const auto survivors = [](bool is_new_request) {
    FourNodes t(EvictStrategy::kSlru);
    t.cache.store(t.b);
    t.cache.store(t.c);
    t.cache.match(t.c);
    t.cache.match(t.c);
    std::vector<BlockId> blocks;
    t.cache.tree.match("", t.b, &blocks);
    t.cache.tree.match("", t.b, &blocks, is_new_request);
    t.cache.tree.evict(1);
    return std::pair(t.cache.cached(t.b), t.cache.cached(t.c));
  };
  const auto both = [](std::int64_t b, std::int64_t c) { return std::pair(b, c); };
  EXPECT_EQ(survivors(true), both(6, 6));   // two reuses each: C was used less recently
  EXPECT_EQ(survivors(false), both(5, 7));  // B has one
}

TEST(PrefixTreeEviction, filo_takes_the_youngest_first) {
  FourNodes t(EvictStrategy::kFilo);
  t.cache.store(t.a);
  t.cache.store(t.b);
  t.cache.store(t.c);
  t.cache.tree.evict(3);
  EXPECT_EQ(t.cache.cached(t.c), 4);
  EXPECT_EQ(t.cache.cached(t.b), 6);
  t.cache.tree.evict(2);
  EXPECT_EQ(t.cache.cached(t.b), 4);
  t.cache.tree.evict(4);
  EXPECT_EQ(t.cache.tree.num_blocks(), 0);
}

TEST(PrefixTreeEviction, slru_keeps_what_two_requests_reused) {
  FourNodes t(EvictStrategy::kSlru);
  t.cache.store(t.b);
  t.cache.store(t.c);
  for (int i = 0; i < 3; ++i) {
    t.cache.match(t.b);
  }
  t.cache.match(t.c);
  t.cache.tree.evict(3);
  EXPECT_EQ(t.cache.cached(t.b), 6);
  EXPECT_EQ(t.cache.cached(t.c), 4);
}

TEST(PrefixTreeEviction, lfu_priority_mru_and_fifo_take_their_own_victim) {
  const auto both = [](std::int64_t b, std::int64_t c) { return std::pair(b, c); };
  const auto survivors = [](EvictStrategy strategy) {
    FourNodes t(strategy);
    t.cache.store(t.b, nullptr, {.priority = 2});
    t.cache.store(t.c, nullptr, {.priority = 1});
    t.cache.match(t.c);
    t.cache.match(t.c);
    t.cache.match(t.b);
    t.cache.tree.evict(1);
    return std::pair(t.cache.cached(t.b), t.cache.cached(t.c));
  };
  EXPECT_EQ(survivors(EvictStrategy::kLfu), both(5, 7));
  EXPECT_EQ(survivors(EvictStrategy::kPriority), both(6, 6));
  EXPECT_EQ(survivors(EvictStrategy::kMru), both(5, 7));
  EXPECT_EQ(survivors(EvictStrategy::kFifo), both(5, 7));
  EXPECT_EQ(survivors(EvictStrategy::kLru), both(6, 6));
}

TEST(PrefixTreeEviction, a_look_up_that_splits_a_node_changes_no_order) {
  FourNodes t(EvictStrategy::kFifo);
  t.cache.store(t.d);
  t.cache.store(t.c);
  t.cache.match({30, 31, 99});
  t.cache.tree.evict(5);
  EXPECT_EQ(t.cache.cached(t.d), 0);  // both halves of D are older than C
  EXPECT_EQ(t.cache.cached(t.c), 7);
}

TEST(PrefixTreeEviction, what_preemption_left_goes_first_until_it_is_reused) {
  FourNodes t(EvictStrategy::kLru);
  t.cache.store(t.b);
  t.cache.store(t.d, nullptr, {.first_to_evict = true});
  t.cache.tree.evict(1);
  EXPECT_EQ(t.cache.cached(t.d), 4);
  t.cache.match(t.d);
  t.cache.tree.evict(1);
  EXPECT_EQ(t.cache.cached(t.d), 4);
  EXPECT_EQ(t.cache.cached(t.b), 5);
}

TEST(PrefixTree, a_very_deep_tree_is_taken_apart_without_recursion) {
  Cache cache(1, EvictStrategy::kLru, 50'000);
  Tokens tokens;
  std::vector<BlockId> blocks;
  std::vector<BlockRef> owned;
  PrefixLock lock;
  for (TokenId i = 0; i < 3'000; ++i) {  // one node for each block
    tokens.push_back(i);
    owned.push_back(cache.pool.take().value());
    blocks.push_back(owned.back().id());
    lock = cache.tree.insert("", tokens, &blocks, &owned, {});
  }
  EXPECT_EQ(cache.tree.num_nodes(), 3'000);
  cache.expect_sound(1);
}

}  // namespace
}  // namespace plumb
