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

TEST(RatioAdmission, a_hundred_steps_at_a_share_of_0_3_begin_and_end_where_the_formula_says) {
  RatioAdmission policy(0.3);
  EXPECT_NEAR(policy.ratio(), 0.21, 1e-12);
  for (int i = 0; i < 700; ++i) {
    policy.observe({.num_running = 1});
  }
  EXPECT_NEAR(policy.ratio(), 0.0294, 1e-9);
}

TEST(RatioAdmission, huge_limits_count_as_4096_tokens) {
  const RatioAdmission policy(1.0);
  const SeqSnapshot seq{.num_output = 100, .max_output = 1'000'000};
  EXPECT_EQ(policy.reserve_new(seq), 4096);
  EXPECT_EQ(policy.reserve_running(seq), 2868);  // 4096 * 0.7, rounded up
  EXPECT_EQ(policy.reserve_new({.num_output = 5, .max_output = 5}), 0);
}

SeqSnapshot ended(std::int64_t num_output, std::int64_t max_output, std::uint32_t tenant = 1) {
  return {.tenant = TenantId{tenant}, .num_output = num_output, .max_output = max_output};
}

TEST(OutputLengths, the_usual_length_is_known_after_50_and_is_the_80th_percentile) {
  OutputLengths lengths;
  for (std::int64_t i = 1; i <= 49; ++i) {
    lengths.observe(TenantId{1}, 1000, i);
  }
  EXPECT_EQ(lengths.usual(TenantId{1}, 1000), std::nullopt);
  lengths.observe(TenantId{1}, 1000, 50);
  EXPECT_EQ(lengths.usual(TenantId{1}, 1000), 40);
  EXPECT_EQ(lengths.usual(TenantId{1}, 600), 40);  // the same power of two
  EXPECT_EQ(lengths.usual(TenantId{1}, 2000), std::nullopt);
  EXPECT_EQ(lengths.usual(TenantId{2}, 1000), std::nullopt);
  for (std::int64_t i = 0; i < 256; ++i) {
    lengths.observe(TenantId{1}, 1000, 7);  // what was long ago is forgotten
  }
  EXPECT_EQ(lengths.usual(TenantId{1}, 1000), 7);
}

TEST(OutputLengths, what_is_left_is_known_from_those_that_got_as_far) {
  OutputLengths lengths;
  for (std::int64_t i = 1; i <= 49; ++i) {
    lengths.observe(TenantId{1}, 1000, i);
  }
  EXPECT_EQ(lengths.usual_left(TenantId{1}, 1000, 0), std::nullopt);
  lengths.observe(TenantId{1}, 1000, 50);
  EXPECT_EQ(lengths.usual_left(TenantId{1}, 1000, 0), 40);
  EXPECT_EQ(lengths.usual_left(TenantId{1}, 1000, 40), 8);  // of 41 to 50 the eighth
  EXPECT_EQ(lengths.usual_left(TenantId{1}, 1000, 49), 1);
  EXPECT_EQ(lengths.usual_left(TenantId{1}, 1000, 50), std::nullopt);
}

TEST(AdmissionPolicy, what_is_left_is_at_most_what_the_limit_leaves) {
  EXPECT_EQ(RatioAdmission(0.3).expected_left(ended(100, 500)), 400);
  EXPECT_EQ(RatioAdmission(1.0).expected_left(ended(500, 500)), 1);
  LearnedAdmission policy(0.5);
  EXPECT_EQ(policy.expected_left(ended(100, 500)), 400);
  for (int i = 0; i < 50; ++i) {
    policy.observe_end(ended(300, 500));
  }
  EXPECT_EQ(policy.expected_left(ended(0, 500)), 300);
  EXPECT_EQ(policy.expected_left(ended(100, 500)), 200);
  EXPECT_EQ(policy.expected_left(ended(300, 500)), 200);  // nobody got farther: the limit
  EXPECT_EQ(policy.expected_left(ended(0, 260)), 260);    // the same kind, with a lower limit
}

TEST(LearnedAdmission, expects_what_is_usual_and_until_then_what_the_ratio_says) {
  LearnedAdmission policy(1.0);
  const SeqSnapshot fresh = ended(0, 1000);
  EXPECT_EQ(policy.reserve_new(fresh), 1000);
  EXPECT_EQ(policy.reserve_running(fresh), 700);
  for (int i = 0; i < 50; ++i) {
    policy.observe_end(ended(100, 1000));
  }
  EXPECT_EQ(policy.reserve_new(fresh), 100);
  EXPECT_EQ(policy.reserve_running(ended(30, 1000)), 70);
  EXPECT_EQ(policy.reserve_running(ended(300, 1000)), 1);  // longer than usual
  EXPECT_EQ(policy.reserve_new(ended(0, 513)), 100);
  EXPECT_EQ(policy.reserve_running(ended(0, 1000, 2)), 700);  // another tenant
  LearnedAdmission careless(0.0);
  for (int i = 0; i < 50; ++i) {
    careless.observe_end(ended(100, 1000));
  }
  EXPECT_EQ(careless.reserve_new(fresh), 1);
}

}  // namespace
}  // namespace plumb
