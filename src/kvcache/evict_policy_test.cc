// SPDX-License-Identifier: Apache-2.0
#include "kvcache/evict_policy.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

bool goes_first(EvictStrategy strategy, const EvictSnapshot& a, const EvictSnapshot& b) {
  return evict_key(strategy, a) < evict_key(strategy, b);
}

TEST(EvictKey, lru_takes_the_longest_unused_and_mru_the_opposite) {
  const EvictSnapshot old{.last_access = 3, .created = 9};
  const EvictSnapshot fresh{.last_access = 4, .created = 1};
  EXPECT_TRUE(goes_first(EvictStrategy::kLru, old, fresh));
  EXPECT_TRUE(goes_first(EvictStrategy::kMru, fresh, old));
}

TEST(EvictKey, fifo_takes_the_first_created_and_filo_the_last) {
  const EvictSnapshot first{.last_access = 9, .created = 1};
  const EvictSnapshot second{.last_access = 1, .created = 2};
  EXPECT_TRUE(goes_first(EvictStrategy::kFifo, first, second));
  EXPECT_TRUE(goes_first(EvictStrategy::kFilo, second, first));
}

TEST(EvictKey, lfu_takes_the_least_reused_and_breaks_ties_by_last_use) {
  const EvictSnapshot often{.last_access = 1, .hit_count = 3};
  const EvictSnapshot rarely{.last_access = 9, .hit_count = 1};
  const EvictSnapshot rarely_and_old{.last_access = 2, .hit_count = 1};
  EXPECT_TRUE(goes_first(EvictStrategy::kLfu, rarely, often));
  EXPECT_TRUE(goes_first(EvictStrategy::kLfu, rarely_and_old, rarely));
}

TEST(EvictKey, slru_protects_what_two_requests_reused) {
  const EvictSnapshot b{.last_access = 3, .hit_count = 3};
  const EvictSnapshot c{.last_access = 4, .hit_count = 1};
  EXPECT_TRUE(goes_first(EvictStrategy::kSlru, c, b));
  const EvictSnapshot d{.last_access = 2, .hit_count = 0};
  EXPECT_TRUE(goes_first(EvictStrategy::kSlru, d, c));
}

TEST(EvictKey, priority_takes_the_least_important) {
  const EvictSnapshot low{.last_access = 9, .priority = -1};
  const EvictSnapshot high{.last_access = 1, .priority = 5};
  EXPECT_TRUE(goes_first(EvictStrategy::kPriority, low, high));
}

TEST(EvictKey, what_a_preempted_sequence_left_goes_before_all_else) {
  const EvictSnapshot left{
      .last_access = 9, .created = 1, .hit_count = 5, .priority = 9, .first_to_evict = true};
  const EvictSnapshot other{.last_access = 1, .created = 2, .hit_count = 0, .priority = 0};
  for (int i = 0; i < kNumEvictStrategies; ++i) {
    EXPECT_TRUE(goes_first(static_cast<EvictStrategy>(i), left, other)) << i;
  }
}

TEST(EvictKey, every_strategy_has_a_name_that_leads_back) {
  for (int i = 0; i < kNumEvictStrategies; ++i) {
    const auto strategy = static_cast<EvictStrategy>(i);
    EXPECT_EQ(evict_strategy_from_text(to_text(strategy)), strategy);
  }
  EXPECT_EQ(evict_strategy_from_text("random"), std::nullopt);
}

}  // namespace
}  // namespace plumb
