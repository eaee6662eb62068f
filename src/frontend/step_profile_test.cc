// SPDX-License-Identifier: Apache-2.0
#include "frontend/step_profile.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/fake_clock.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

TEST(StepProfile, a_step_is_three_slices_that_end_where_it_ended) {
  FakeClock clock;
  StepProfile profile;
  profile.on_step({});  // nobody asked for it
  ASSERT_TRUE(profile.start(clock, 0).ok());
  EXPECT_EQ(profile.start(clock, 0).code(), Code::kUnavailable);
  clock.advance(100us);
  StepStats step;
  step.plan_time = 10us;
  step.model_time = 50us;
  step.sample_time = 20us;
  step.num_decode_rows = 3;
  profile.on_step(step);
  EXPECT_FALSE(profile.is_complete());
  const Result<std::string> text = profile.finish();
  ASSERT_TRUE(text.ok());
  const Json trace = parse_json(text.value()).value();
  const JsonArray& events = trace.find("traceEvents")->as_array();
  ASSERT_EQ(events.size(), 5U);  // two names of tracks
  const double end =
      std::chrono::duration<double, std::micro>(clock.now().time_since_epoch()).count();
  const auto expect = [&](std::size_t i, const char* name, double begin, double duration) {
    EXPECT_EQ(events[i].find("name")->as_string(), name);
    EXPECT_NEAR(events[i].find("ts")->as_double() - end, begin, 1e-3);
    EXPECT_NEAR(events[i].find("dur")->as_double(), duration, 1e-9);
  };
  expect(2, "plan", -80, 10);
  expect(3, "model", -70, 50);
  expect(4, "sample", -20, 20);
  EXPECT_EQ(events[3].find("args")->find("num_decode_rows")->as_int(), 3);
  EXPECT_EQ(trace.find("otherData")->find("num_steps")->as_int(), 1);
  EXPECT_EQ(profile.finish().status().code(), Code::kUnavailable);
}

TEST(StepProfile, so_many_steps_are_enough) {
  FakeClock clock;
  StepProfile profile;
  ASSERT_TRUE(profile.start(clock, 2).ok());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(profile.is_complete(), i >= 2);
    profile.on_step({});
  }
  const Json trace = parse_json(profile.finish().value()).value();
  EXPECT_EQ(trace.find("otherData")->find("num_steps")->as_int(), 2);
  EXPECT_EQ(trace.find("otherData")->find("num_left_out")->as_int(), 0);
  ASSERT_TRUE(profile.start(clock, 1).ok());  // another one begins empty
  EXPECT_FALSE(profile.is_complete());
}

TEST(StepProfile, more_steps_than_are_kept_are_counted) {
  FakeClock clock;
  StepProfile profile;
  ASSERT_TRUE(profile.start(clock, 0).ok());
  for (int i = 0; i < 100'003; ++i) {
    profile.on_step({});
  }
  const Json trace = parse_json(profile.finish().value()).value();
  EXPECT_EQ(trace.find("otherData")->find("num_left_out")->as_int(), 3);
}

}  // namespace
}  // namespace plumb
