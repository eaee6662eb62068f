// SPDX-License-Identifier: Apache-2.0
#include "sampling/logits_math.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace plumb {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_row(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> row(size);
  for (float& x : row) {
    x = normal(random);
  }
  return row;
}

TEST(Summarize, finds_the_maximum_and_what_is_no_number_at_every_place) {
  for (std::size_t size : {1U, 15U, 16U, 17U, 100U}) {
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<float> row(size, -3.0F);
      row[i] = 2.0F;
      EXPECT_EQ(summarize(row).max, 2.0F);
      EXPECT_TRUE(summarize(row).is_valid);
      row[i] = std::nanf("");
      EXPECT_FALSE(summarize(row).is_valid);
      row[i] = kInf;
      EXPECT_FALSE(summarize(row).is_valid);
      row[i] = -kInf;
      EXPECT_EQ(summarize(row).is_valid, size > 1);
    }
  }
}

TEST(ExpAll, agrees_with_the_library_over_the_whole_range) {
  std::vector<float> z;
  for (int i = 0; i <= 87'000; ++i) {
    z.push_back(-static_cast<float>(i) / 1000.0F);
  }
  std::vector<float> out(z.size());
  exp_all(z, out);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double exact = std::exp(static_cast<double>(z[i]));
    ASSERT_NEAR(static_cast<double>(out[i]) / exact, 1.0, 3e-7) << z[i];
  }
  const std::vector<float> far{-kInf, -1000.0F, 0.0F};
  std::vector<float> far_out(3);
  exp_all(far, far_out);
  EXPECT_EQ(far_out, (std::vector<float>{0.0F, 0.0F, 1.0F}));
}

TEST(LogSumExp, agrees_with_the_sum_in_double) {
  const std::vector<float> row = random_row(49'152, 1);
  double sum = 0;
  for (const float x : row) {
    sum += std::exp(static_cast<double>(x));
  }
  EXPECT_NEAR(log_sum_exp(row, summarize(row).max), std::log(sum), 1e-6);
}

TEST(Scale, keeps_forbidden_tokens_forbidden_at_any_temperature) {
  const std::vector<float> row{1.0F, -kInf, 0.5F};
  std::vector<float> z(3);
  for (const double temperature : {1e-5, 1.0, 1e300}) {
    scale(row, 1.0F, temperature, z);
    EXPECT_EQ(z[0], 0.0F);
    EXPECT_EQ(z[1], -kInf);
    EXPECT_LE(z[2], 0.0F);
  }
}

TEST(TopLogprobs, are_ordered_by_probability_then_by_id) {
  const std::vector<float> row{1, 3, 2, 3, 0};
  const std::vector<TokenLogprob> top = top_logprobs(row, 0.0, 3);
  ASSERT_EQ(top.size(), 3U);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 2);
  EXPECT_TRUE(top_logprobs(row, 0.0, 0).empty());
  EXPECT_EQ(top_logprobs(row, 0.0, 20).size(), 5U);
}

TEST(TopLogprobs, agree_with_a_full_sort) {
  const std::vector<float> row = random_row(5000, 2);
  std::vector<TokenId> order(row.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<TokenId>(i);
  }
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  const auto top = top_logprobs(row, 0.0, 20);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(top[i].token, order[i]);
  }
}

TEST(LogprobsOf, of_equal_logits_is_minus_log_of_their_number) {
  const std::vector<float> row(8, 5.0F);
  const EmittedToken token = logprobs_of(row, 5.0F, 3, 2);
  EXPECT_EQ(token.token, 3);
  EXPECT_NEAR(token.logprob, -std::log(8.0), 1e-6);
  EXPECT_EQ(token.top_logprobs[0].token, 0);
  EXPECT_EQ(token.top_logprobs[1].token, 1);
}

TEST(RankOf, counts_what_comes_before_by_probability_then_by_id) {
  const std::vector<float> row{1, 3, 3, 2};
  EXPECT_EQ(rank_of(row, 1), 1);
  EXPECT_EQ(rank_of(row, 2), 2);
  EXPECT_EQ(rank_of(row, 3), 3);
  EXPECT_EQ(rank_of(row, 0), 4);
}

}  // namespace
}  // namespace plumb
