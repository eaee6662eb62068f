// SPDX-License-Identifier: Apache-2.0
#include "engine/tier_rates.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using namespace std::chrono_literals;

// 70,272 bytes a token: 1,024 tokens are 72 MB.
constexpr std::int64_t kTokens = 1024;
constexpr std::int64_t kBytes = 70'272 * kTokens;

LoadRule measured(double disk_bytes_per_second) {
  LoadRule rule;
  rule.prefill_tokens.observe(static_cast<double>(kTokens), 60ms);
  rule.host_bytes.observe(50e9, 1s);
  rule.disk_bytes.observe(disk_bytes_per_second, 1s);
  return rule;
}

TEST(LoadRule, memory_and_a_fast_disk_are_worth_it_a_slow_one_is_not) {
  EXPECT_TRUE(measured(3e9).prefers_host(kBytes, kTokens));   // 1.4 ms
  EXPECT_TRUE(measured(3e9).prefers_disk(kBytes, kTokens));   // 24 ms
  EXPECT_FALSE(measured(1e9).prefers_disk(kBytes, kTokens));  // 72 ms
}

TEST(LoadRule, what_was_never_measured_is_tried) {
  LoadRule rule;
  EXPECT_TRUE(rule.prefers_disk(1 << 30, 1));
  rule.prefill_tokens.observe(1000, 1s);
  EXPECT_TRUE(rule.prefers_disk(1 << 30, 1));
}

TEST(LoadRule, a_tier_that_was_slow_once_is_tried_again) {
  LoadRule rule = measured(1e9);
  int refusals = 0;
  while (!rule.prefers_disk(kBytes, kTokens) && refusals < 100) {
    ++refusals;
  }
  EXPECT_GE(refusals, 3);
  EXPECT_LT(refusals, 8);
}

TEST(MeasuredRate, follows_the_samples_and_ignores_empty_ones) {
  MeasuredRate rate;
  rate.observe(100, 0ns);
  rate.observe(0, 1s);
  EXPECT_FALSE(rate.is_known());
  rate.observe(100, 1s);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
  rate.observe(200, 1s);
  EXPECT_DOUBLE_EQ(rate.per_second(), 120);
}

}  // namespace
}  // namespace plumb
