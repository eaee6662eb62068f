// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "base/rng.h"
#include "sampling/gumbel_draw.h"
#include "sampling/sampler.h"

namespace plumb {
namespace {

// Chi-square of observed counts against probabilities over cells with an expectation of 5 or more.
double chi_square(const std::map<TokenId, int>& counts, const std::vector<double>& p, int n,
                  int* num_cells) {
  double sum = 0;
  *num_cells = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * n;
    const auto found = counts.find(static_cast<TokenId>(i));
    const double observed = found == counts.end() ? 0 : found->second;
    if (expected >= 5) {
      sum += (observed - expected) * (observed - expected) / expected;
      ++*num_cells;
    } else if (p[i] == 0) {
      EXPECT_EQ(observed, 0) << "token " << i << " was cut";
    }
  }
  return sum;
}

std::vector<double> normalised(std::vector<double> weights) {
  double sum = 0;
  for (const double w : weights) {
    sum += w;
  }
  for (double& w : weights) {
    w /= sum;
  }
  return weights;
}

// Draws at many positions with one seed and compares with p.
void expect_draws_follow(const std::vector<float>& logits, const SamplingParams& params,
                         const std::vector<double>& p) {
  constexpr int kDraws = 20'000;
  Sampler sampler(std::ssize(logits));
  std::map<TokenId, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[sampler.sample(logits, {.params = &params, .position = i}).value().token];
  }
  int num_cells = 0;
  const double chi = chi_square(counts, p, kDraws, &num_cells);
  // Mean = cells - 1, standard deviation = sqrt(2 (cells - 1)); the seeds are fixed.
  const double freedom = std::max(num_cells - 1, 1);
  EXPECT_LT(chi, freedom + 4 * std::sqrt(2 * freedom)) << "seed " << params.seed;
}

const std::vector<float> kLogits{0.0F, 1.0F, -1.0F, 2.0F, 0.5F, -3.0F, 1.5F, 0.25F, -0.5F, 1.75F};

std::vector<double> softmax(double temperature) {
  std::vector<double> weights;
  for (const float l : kLogits) {
    weights.push_back(std::exp(static_cast<double>(l) / temperature));
  }
  return normalised(weights);
}

TEST(SamplerDraw, follows_the_softmax_at_several_temperatures_and_seeds) {
  for (const double temperature : {0.5, 1.0, 2.0}) {
    for (const std::uint64_t seed : {1ULL, 99ULL, 0xFFFFFFFFFFFFFFFFULL}) {
      SamplingParams params;
      params.temperature = temperature;
      params.seed = seed;
      expect_draws_follow(kLogits, params, softmax(temperature));
    }
  }
}

TEST(SamplerDraw, follows_the_renormalised_rest_after_top_k_top_p_and_min_p) {
  SamplingParams params;
  params.seed = 5;
  params.top_k = 4;
  std::vector<double> p = softmax(1.0);
  for (const std::size_t cut : {0U, 2U, 4U, 5U, 7U, 8U}) {
    p[cut] = 0;
  }
  expect_draws_follow(kLogits, params, normalised(p));  // tokens 3, 9, 6, 1
  params.top_p = 0.6;                                   // of those: 0.409 + 0.319 >= 0.6
  p[6] = p[1] = 0;
  expect_draws_follow(kLogits, params, normalised(p));
  SamplingParams by_min_p;
  by_min_p.seed = 6;
  by_min_p.min_p = 0.7;  // exp(-0.25) = 0.78, exp(-0.5) = 0.61
  expect_draws_follow(kLogits, by_min_p, normalised(p));
}

TEST(SamplerDraw, follows_the_softmax_over_a_large_flat_vocabulary) {
  std::vector<float> logits(2000);
  std::vector<double> weights;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(i % 5) * 0.3F;
    weights.push_back(std::exp(static_cast<double>(logits[i])));
  }
  SamplingParams params;
  params.seed = 77;
  expect_draws_follow(logits, params, normalised(weights));
}

TEST(DrawGumbel, equals_the_plain_formula_over_all_tokens) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 6);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<float> z(1 + random() % 3000);
    for (float& x : z) {
      x = normal(random);
    }
    const float max = *std::max_element(z.begin(), z.end());
    for (float& x : z) {
      x -= max;
    }
    const std::uint64_t seed = (std::uint64_t{random()} << 32) | random();
    const std::int64_t position = random();
    double best = -1e300;
    TokenId expected = -1;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const auto words =
          philox({static_cast<std::uint32_t>(i / 4), 0, static_cast<std::uint32_t>(position), 0},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      const double u = (static_cast<double>(words[i % 4]) + 0.5) / 4294967296.0;
      const double score = static_cast<double>(z[i]) - std::log(-std::log(u));
      if (score > best) {
        best = score;
        expected = static_cast<TokenId>(i);
      }
    }
    const auto top = static_cast<TokenId>(std::max_element(z.begin(), z.end()) - z.begin());
    EXPECT_EQ(draw_gumbel(z, {}, top, seed, position), expected);
  }
}

TEST(SamplerDraw, depends_on_seed_and_position_only) {
  SamplingParams params;
  params.seed = 42;
  Sampler one(10);
  Sampler other(10);
  std::vector<TokenId> forward;
  std::vector<TokenId> backward(50);
  for (int i = 0; i < 50; ++i) {
    forward.push_back(one.sample(kLogits, {.params = &params, .position = i}).value().token);
    const int j = 49 - i;
    backward[static_cast<std::size_t>(j)] =
        other.sample(kLogits, {.params = &params, .position = j}).value().token;
  }
  EXPECT_EQ(forward, backward);
  params.seed = 43;
  std::vector<TokenId> another;
  for (int i = 0; i < 50; ++i) {
    another.push_back(one.sample(kLogits, {.params = &params, .position = i}).value().token);
  }
  EXPECT_NE(forward, another);
}

}  // namespace
}  // namespace plumb
