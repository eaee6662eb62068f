// SPDX-License-Identifier: Apache-2.0
#include "sampling/candidate_cut.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace plumb {
namespace {

std::vector<float> z_of(const std::vector<double>& p) {
  std::vector<float> z;
  const double max = *std::max_element(p.begin(), p.end());
  for (const double x : p) {
    z.push_back(static_cast<float>(std::log(x / max)));
  }
  return z;
}

std::vector<TokenId> survivors(const std::vector<float>& z, const CandidateCut& cut) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (cut.keeps(z[i], static_cast<TokenId>(i))) {
      ids.push_back(static_cast<TokenId>(i));
    }
  }
  return ids;
}

// The definition: sort everything.
std::vector<TokenId> by_sorting(const std::vector<float>& z, std::int64_t top_k, double top_p,
                                double min_p) {
  std::vector<TokenId> ids(z.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto at = [&z](TokenId id) { return static_cast<double>(z[static_cast<std::size_t>(id)]); };
  std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) { return at(a) > at(b); });
  if (top_k > 0 && top_k < std::ssize(ids)) {
    ids.resize(static_cast<std::size_t>(top_k));
  }
  double total = 0;
  for (const TokenId id : ids) {
    total += std::exp(at(id));
  }
  double sum = 0;
  std::size_t kept = 0;
  while (kept < ids.size() && sum < top_p * total) {
    sum += std::exp(at(ids[kept++]));
  }
  ids.resize(std::max<std::size_t>(kept, 1));
  std::erase_if(ids, [&](TokenId id) { return std::exp(at(id)) < min_p * (1 - 1e-7); });
  std::sort(ids.begin(), ids.end());
  return ids;
}

using Ids = std::vector<TokenId>;

TEST(CandidateCutter, top_p_works_on_what_top_k_left_renormalised) {
  const std::vector<float> z = z_of({.5, .3, .1, .1});
  CandidateCutter cutter;
  EXPECT_EQ(survivors(z, cutter.find(z, 2, 0.6, 0)), (Ids{0}));  // 0.625 >= 0.6
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 0.6, 0)), (Ids{0, 1}));
}

TEST(CandidateCutter, jointly_top_p_works_on_the_whole_distribution) {
  const std::vector<float> z = z_of({.5, .3, .1, .1});
  CandidateCutter cutter;
  EXPECT_EQ(survivors(z, cutter.find(z, 2, 0.6, 0, true)), (Ids{0, 1}));  // .5 < .6
  EXPECT_EQ(survivors(z, cutter.find(z, 1, 0.9, 0, true)), (Ids{0}));
  EXPECT_EQ(survivors(z, cutter.find(z, 3, 0.4, 0, true)), (Ids{0}));
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 0.6, 0, true)), (Ids{0, 1}));
  EXPECT_EQ(survivors(z, cutter.find(z, 3, 1.0, 0, true)), (Ids{0, 1, 2}));
}

TEST(CandidateCutter, top_p_keeps_the_smallest_prefix_and_at_least_one) {
  const std::vector<float> z = z_of({.1, .2, .4, .3});
  CandidateCutter cutter;
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 1e-9, 0)), (Ids{2}));
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 0.65, 0)), (Ids{2, 3}));
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 0.75, 0)), (Ids{1, 2, 3}));
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 1.0, 0)), (Ids{0, 1, 2, 3}));
}

TEST(CandidateCutter, min_p_is_relative_to_the_most_likely) {
  const std::vector<float> z = z_of({.5, .26, .2, .04});
  CandidateCutter cutter;
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 1.0, 0.5)), (Ids{0, 1}));
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 1.0, 0.1)), (Ids{0, 1, 2}));
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 1.0, 1.0)), (Ids{0}));
}

TEST(CandidateCutter, top_k_of_equal_tokens_keeps_the_lowest_ids) {
  const std::vector<float> z(100, 0.0F);
  CandidateCutter cutter;
  EXPECT_EQ(survivors(z, cutter.find(z, 3, 1.0, 0)), (Ids{0, 1, 2}));
  EXPECT_EQ(survivors(z, cutter.find(z, 100, 1.0, 0)).size(), 100U);
  EXPECT_EQ(survivors(z, cutter.find(z, 1000, 1.0, 0)).size(), 100U);
  EXPECT_EQ(survivors(z, cutter.find(z, 0, 0.255, 0)).size(), 26U);
}

TEST(CandidateCutter, agrees_with_sorting_on_random_rows) {
  std::mt19937 random(3);
  CandidateCutter cutter;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<float> z(1 + random() % 400);
    std::normal_distribution<float> normal(0, static_cast<float>(1 + random() % 20));
    for (float& x : z) {
      x = random() % 9 == 0 ? -std::numeric_limits<float>::infinity() : normal(random);
      x = random() % 4 == 0 ? std::round(x) : x;  // ties
    }
    z[random() % z.size()] = 60.0F;
    for (float& x : z) {
      x -= 60.0F;
      x = std::min(x / 8.0F, 0.0F);
    }
    const auto top_k = static_cast<std::int64_t>(random() % 50);
    const double top_p = 0.013 + static_cast<double>(random() % 98) / 100.0;
    const double min_p = trial % 2 == 0 ? 0.0 : static_cast<double>(random() % 100) / 1000.0;
    EXPECT_EQ(survivors(z, cutter.find(z, top_k, std::min(top_p, 1.0), min_p)),
              by_sorting(z, top_k, std::min(top_p, 1.0), min_p))
        << trial << " k " << top_k << " p " << top_p << " min_p " << min_p;
  }
}

}  // namespace
}  // namespace plumb
