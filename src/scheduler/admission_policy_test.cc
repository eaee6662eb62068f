// SPDX-License-Identifier: Apache-2.0
#include "scheduler/admission_policy.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(RatioAdmission, the_ratio_starts_at_0_7_and_sinks_to_0_098_in_600_steps) {
  RatioAdmission policy(1.0);
  EXPECT_DOUBLE_EQ(policy.ratio(), 0.7);
  for (int i = 0; i < 100; ++i) {
    policy.observe({.num_running = 1});
  }
  EXPECT_NEAR(policy.ratio(), 0.599667, 1e-6);
  for (int i = 0; i < 1000; ++i) {
    policy.observe({.num_running = 1});
  }
  EXPECT_NEAR(policy.ratio(), 0.098, 1e-9);
  policy.observe({.num_running = 0});
  EXPECT_DOUBLE_EQ(policy.ratio(), 0.7);
  EXPECT_NEAR(RatioAdmission(0.3).ratio(), 0.21, 1e-12);
}

TEST(RatioAdmission, a_preemption_sets_the_ratio_to_what_was_used) {
  RatioAdmission policy(1.0);
  policy.observe(
      {.num_running = 10, .num_preempted = 1, .sum_output = 2000, .sum_max_output = 10'000});
  EXPECT_NEAR(policy.ratio(), 0.21998, 1e-5);
}

TEST(RatioAdmission, huge_limits_count_as_4096_tokens) {
  const RatioAdmission policy(1.0);
  const SeqSnapshot seq{.num_output = 100, .max_output = 1'000'000};
  EXPECT_EQ(policy.reserve_new(seq), 4096);
  EXPECT_EQ(policy.reserve_running(seq), 2868);  // 4096 * 0.7, rounded up
  EXPECT_EQ(policy.reserve_new({.num_output = 5, .max_output = 5}), 0);
}

}  // namespace
}  // namespace plumb
