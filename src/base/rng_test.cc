// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace plumb {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, matches_the_known_answers_of_its_authors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The counter of splitmix64 from seed 0, whose first outputs are published.
TEST(Mix64, is_the_finaliser_of_splitmix64) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  EXPECT_EQ(mix64(kStep), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix64(2 * kStep), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(mix64(3 * kStep), 0x06c45d188009454fU);
  EXPECT_EQ(mix64(0), 0U);
}

TEST(Rng, starts_with_the_block_of_counter_zero) {
  Rng rng(0);
  EXPECT_EQ(rng.next_u32(), 0x6627e8d5U);
  EXPECT_EQ(rng.next_u32(), 0xe169c58dU);
}

TEST(Rng, equal_seeds_agree_and_streams_differ) {
  Rng a(7, 1);
  Rng b(7, 1);
  Rng c(7, 2);
  int num_equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t x = a.next_u64();
    EXPECT_EQ(x, b.next_u64());
    num_equal += x == c.next_u64() ? 1 : 0;
  }
  EXPECT_EQ(num_equal, 0);
}

TEST(Rng, uniform_numbers_pass_a_kolmogorov_smirnov_test) {
  Rng rng(1);
  constexpr int kCount = 20000;
  std::vector<double> values;
  for (int i = 0; i < kCount; ++i) {
    values.push_back(rng.uniform());
  }
  std::sort(values.begin(), values.end());
  EXPECT_GE(values.front(), 0.0);
  EXPECT_LT(values.back(), 1.0);
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    distance = std::max(distance, std::abs(values[i] - static_cast<double>(i) / kCount));
  }
  EXPECT_LT(distance, 1.63 / std::sqrt(kCount));  // 1 % level
}

TEST(Rng, normal_numbers_have_the_moments_of_the_normal_distribution) {
  Rng rng(2);
  constexpr int kCount = 50000;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = rng.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.03);
  EXPECT_NEAR(fourths / kCount, 3, 0.2);
}

TEST(Rng, below_covers_its_range_evenly) {
  Rng rng(3);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60000; ++i) {
    ++counts[static_cast<std::size_t>(rng.below(6))];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10000, 400);
  }
  EXPECT_EQ(rng.below(1), 0);
}

}  // namespace
}  // namespace plumb
