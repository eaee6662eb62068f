// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue_forecast.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using namespace std::chrono_literals;

TEST(QueueForecast, knows_the_rate_once_a_tenth_of_a_second_was_seen) {
  QueueForecast forecast;
  forecast.observe(50ms, 100);
  EXPECT_EQ(forecast.tokens_per_second(), std::nullopt);
  forecast.observe(60ms, 120);
  EXPECT_NEAR(forecast.tokens_per_second().value(), 2000, 5);
}

TEST(QueueForecast, says_nothing_while_nothing_begins) {
  QueueForecast forecast;
  forecast.observe(10s, 0);
  EXPECT_EQ(forecast.tokens_per_second(), std::nullopt);
}

TEST(QueueForecast, forgets_the_past_within_a_minute_or_two) {
  QueueForecast forecast;
  for (int i = 0; i < 600; ++i) {
    forecast.observe(100ms, 1000);
  }
  EXPECT_NEAR(forecast.tokens_per_second().value(), 10'000, 100);
  for (int i = 0; i < 1200; ++i) {
    forecast.observe(100ms, 10);
  }
  EXPECT_LT(forecast.tokens_per_second().value(), 400);
}

TEST(QueueTime, is_tokens_over_rate) {
  EXPECT_EQ(queue_time(3000, 2000), 1500ms);
  EXPECT_EQ(queue_time(0, 2000), 0ms);
  EXPECT_GT(queue_time(1, 0), 1000s);
}

}  // namespace
}  // namespace plumb
