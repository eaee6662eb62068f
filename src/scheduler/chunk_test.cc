// SPDX-License-Identifier: Apache-2.0
#include "scheduler/chunk.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

SeqSnapshot prompt(std::int64_t num_tokens, std::int64_t num_computed = 0) {
  return {.id = SeqId{1}, .num_tokens = num_tokens, .num_computed = num_computed};
}

// The chunks of a sequence that has every step to itself.
std::vector<std::int64_t> chunks(SeqSnapshot seq, const Budget& budget) {
  std::vector<std::int64_t> sizes;
  while (seq.num_uncached() > 0 && sizes.size() < 100) {
    sizes.push_back(chunk_tokens(seq, budget));
    seq.num_computed += sizes.back();
  }
  return sizes;
}

using Sizes = std::vector<std::int64_t>;

TEST(ChunkTokens, a_short_tail_joins_the_last_full_chunk) {
  const Budget budget{.num_tokens = 8192, .merge_tokens = 512, .block_size = 128};
  EXPECT_EQ(chunks(prompt(8196), budget), (Sizes{8196}));
}

TEST(ChunkTokens, a_longer_tail_makes_equal_chunks_of_whole_blocks) {
  const Budget budget{.num_tokens = 8192, .merge_tokens = 512, .block_size = 128};
  EXPECT_EQ(chunks(prompt(9000), budget), (Sizes{4608, 4392}));
  EXPECT_EQ(chunks(prompt(131072, 117888), budget), (Sizes{6656, 6528}));
}

TEST(ChunkTokens, a_chunk_that_is_not_the_last_ends_at_a_block_boundary) {
  const Budget budget{.num_tokens = 1000, .block_size = 64};
  EXPECT_EQ(chunk_tokens(prompt(100'000, 100), budget), 924);
  const Budget small{.num_tokens = 63, .block_size = 64};
  EXPECT_EQ(chunk_tokens(prompt(1000), small), 0);
}

TEST(ChunkTokens, what_fits_is_taken_whole_and_nothing_of_no_budget) {
  EXPECT_EQ(chunk_tokens(prompt(5), {.num_tokens = 8, .block_size = 32}), 5);
  EXPECT_EQ(chunk_tokens(prompt(5), {.num_tokens = 0, .merge_tokens = 9}), 0);
}

TEST(ChunkTokens, prompt_logprobs_limit_the_chunk_by_their_own_budget) {
  SeqSnapshot seq = prompt(100);
  seq.needs_all_logits = true;
  Budget budget{.num_tokens = 64, .block_size = 32, .num_logits_tokens = 40};
  EXPECT_EQ(chunk_tokens(seq, budget), 40);
  charge(seq, 40, &budget);
  EXPECT_EQ(chunk_tokens(seq, budget), 0);
}

TEST(Charge, merging_is_possible_once_in_a_step) {
  Budget budget{.num_tokens = 64, .merge_tokens = 16, .block_size = 16};
  const SeqSnapshot seq = prompt(74);
  EXPECT_EQ(chunk_tokens(seq, budget), 74);
  charge(seq, 74, &budget);
  EXPECT_EQ(budget.num_tokens, 0);
  EXPECT_EQ(budget.merge_tokens, 6);
  EXPECT_EQ(budget.num_partials, 2);
}

}  // namespace
}  // namespace plumb
