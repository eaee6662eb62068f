// SPDX-License-Identifier: Apache-2.0
#include "kvcache/block_pool.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace plumb {
namespace {

TEST(BlockPool, a_lease_is_given_back_when_it_dies) {
  BlockPool pool(2);
  {
    const BlockRef a = pool.take().value();
    EXPECT_EQ(pool.num_free(), 1);
    EXPECT_FALSE(pool.is_free(a.id()));
  }
  EXPECT_EQ(pool.num_free(), 2);
}

TEST(BlockPool, an_empty_pool_says_so_and_lends_nothing) {
  BlockPool pool(1);
  const BlockRef held = pool.take().value();
  const Result<BlockRef> refused = pool.take();
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(BlockPool(0).take().status().code(), Code::kResourceExhausted);
}

TEST(BlockPool, moving_a_lease_does_not_give_the_block_back) {
  BlockPool pool(3);
  BlockRef a = pool.take().value();
  const BlockId id = a.id();
  BlockRef b = std::move(a);
  EXPECT_EQ(b.id(), id);
  EXPECT_EQ(pool.num_leased(), 1);
  std::vector<BlockRef> many;
  many.push_back(std::move(b));
  many.push_back(pool.take().value());
  many.erase(many.begin());
  EXPECT_EQ(pool.num_leased(), 1);
}

TEST(BlockPool, the_block_given_back_last_is_taken_first) {
  BlockPool pool(4);
  const BlockRef a = pool.take().value();
  BlockRef b = pool.take().value();
  const BlockId id = b.id();
  b = BlockRef();
  EXPECT_EQ(pool.take().value().id(), id);
}

TEST(BlockPool, random_use_never_lends_a_block_twice) {
  std::mt19937 random(7);
  BlockPool pool(50);
  std::vector<BlockRef> held;
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0) {
      Result<BlockRef> block = pool.take();
      ASSERT_EQ(block.ok(), held.size() < 50);
      if (block.ok()) {
        held.push_back(std::move(block).value());
      }
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      held.pop_back();
    }
    std::set<BlockId> ids;
    for (const BlockRef& block : held) {
      ids.insert(block.id());
    }
    ASSERT_EQ(ids.size(), held.size());
    ASSERT_EQ(pool.num_leased(), std::ssize(held));
  }
  EXPECT_TRUE(pool.check_invariants().ok());
}

TEST(BlockPool, says_who_left_last_and_whether_a_block_was_taken_again) {
  BlockPool pool(4);
  std::vector<BlockRef> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(pool.take().value());
  }
  const BlockId first = held[0].id();
  const BlockId second = held[1].id();
  const std::uint32_t lease = pool.lease_number(second);
  held[0] = BlockRef();
  held[1] = BlockRef();
  EXPECT_EQ(pool.last_freed(2)[0], first);
  EXPECT_EQ(pool.last_freed(2)[1], second);
  EXPECT_EQ(pool.lease_number(second), lease);
  held[1] = pool.take().value();
  EXPECT_EQ(held[1].id(), second);
  EXPECT_NE(pool.lease_number(second), lease);
}

TEST(BlockPool, a_part_of_a_block_takes_a_whole_one) {
  EXPECT_EQ(num_blocks_for(0, 32), 0);
  EXPECT_EQ(num_blocks_for(1, 32), 1);
  EXPECT_EQ(num_blocks_for(32, 32), 1);
  EXPECT_EQ(num_blocks_for(33, 32), 2);
}

}  // namespace
}  // namespace plumb
