// SPDX-License-Identifier: Apache-2.0
#include "frontend/step_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(StepMetrics, tokens_and_planner_of_each_step_are_counted) {
  Metrics metrics;
  StepMetrics steps(metrics);
  steps.add_tokens(metrics.histogram("other_tokens", "the same", {8}));
  StepStats step;
  steps.on_step(step);  // nothing was computed
  step.num_decode_rows = 3;
  step.num_prefill_tokens = 5;
  step.planner_time = 7us;
  steps.on_step(step);
  step.num_prefill_tokens = 6;
  steps.on_step(step);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("plumb_step_tokens_bucket{le=\"8\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("plumb_step_tokens_bucket{le=\"16\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("plumb_step_tokens_sum 17\n"));
  EXPECT_THAT(text, HasSubstr("other_tokens_bucket{le=\"8\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("other_tokens_count 2\n"));
  EXPECT_THAT(text, HasSubstr("plumb_step_planner_seconds_sum 1.4e-05\n"));
  EXPECT_THAT(text, HasSubstr("plumb_step_planner_seconds_bucket{le=\"5e-06\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("plumb_step_planner_seconds_bucket{le=\"1e-05\"} 2\n"));
}

}  // namespace
}  // namespace plumb
