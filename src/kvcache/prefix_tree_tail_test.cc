// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <random>

#include "kvcache/prefix_tree.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

struct TailCache {
  explicit TailCache(std::int64_t block_size) : size(block_size), pool(2'000), tree(size, kLru) {}

  std::vector<BlockId> store(const Tokens& tokens) {
    std::vector<BlockId> blocks;
    std::vector<BlockRef> owned;
    for (std::int64_t i = 0; i < num_blocks_for(std::ssize(tokens), size); ++i) {
      owned.push_back(pool.take().value());
      blocks.push_back(owned.back().id());
    }
    tree.insert("", tokens, &blocks, &owned, {});
    return blocks;
  }

  // What a sequence that is to compute `tokens` finds behind its whole blocks.
  PrefixTail tail(const Tokens& tokens) {
    std::vector<BlockId> blocks;
    const PrefixLock lock = tree.match("", tokens, &blocks);
    return tree.find_tail(
        "", lock,
        std::span<const TokenId>(tokens).subspan(blocks.size() * static_cast<std::size_t>(size)));
  }

  static constexpr EvictStrategy kLru = EvictStrategy::kLru;
  std::int64_t size;
  BlockPool pool;
  PrefixTree tree;
};

TEST(PrefixTail, the_next_block_is_found_within_an_edge_and_below_a_node) {
  TailCache cache(4);
  const std::vector<BlockId> stored = cache.store({1, 2, 3, 4, 5, 6, 7, 8});
  PrefixTail tail = cache.tail({1, 2, 3, 4, 5, 6, 99});
  EXPECT_EQ(tail.block, stored[1]);
  EXPECT_EQ(tail.num_tokens, 2);
  tail = cache.tail({1, 2, 9, 9, 9});  // nothing whole is cached
  EXPECT_EQ(tail.block, stored[0]);
  EXPECT_EQ(tail.num_tokens, 2);
  const std::vector<BlockId> other = cache.store({1, 2, 3, 4, 5, 60, 7, 8});
  tail = cache.tail({1, 2, 3, 4, 5, 60});
  EXPECT_EQ(tail.block, other[1]);
  EXPECT_EQ(tail.num_tokens, 2);
}

TEST(PrefixTail, there_is_none_without_a_common_token) {
  TailCache cache(4);
  EXPECT_EQ(cache.tail({1, 2}).num_tokens, 0);  // an empty tree
  cache.store({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(cache.tail({9, 2, 3}).num_tokens, 0);
  EXPECT_EQ(cache.tail({1, 2, 3, 4}).num_tokens, 0);                 // nothing is left to compute
  EXPECT_EQ(cache.tail({1, 2, 3, 4, 5, 6, 7, 8, 9}).num_tokens, 0);  // nothing follows
  TailCache ones(1);
  ones.store({1, 2});
  EXPECT_EQ(ones.tail({1, 3}).num_tokens, 0);  // blocks of one token have no parts
}

TEST(PrefixTail, it_is_the_longest_of_all_siblings) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const auto size = static_cast<std::int64_t>(2 + random() % 5);
    const auto draw = [&] { return static_cast<TokenId>(random() % 3 * 200 + random() % 2); };
    TailCache cache(size);
    std::vector<Tokens> firsts;
    for (std::size_t n = random() % 20; n > 0; --n) {
      Tokens block;
      for (std::int64_t i = 0; i < size; ++i) {
        block.push_back(draw());
      }
      cache.store(block);
      firsts.push_back(block);
    }
    Tokens wanted;
    for (std::int64_t i = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(size - 1));
         i > 0; --i) {
      wanted.push_back(draw());
    }
    std::int64_t expected = 0;
    for (const Tokens& block : firsts) {
      const auto end = std::mismatch(wanted.begin(), wanted.end(), block.begin());
      expected = std::max<std::int64_t>(expected, end.first - wanted.begin());
    }
    EXPECT_EQ(cache.tail(wanted).num_tokens, expected);
  }
}

}  // namespace
}  // namespace plumb
