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

TEST(QueueForecast, knows_how_much_of_the_prompts_the_cache_held) {
  QueueForecast forecast;
  EXPECT_EQ(forecast.computed_share(), 1);
  forecast.observe(1ms, 1000, 900);
  EXPECT_NEAR(forecast.computed_share(), 0.1, 1e-9);
  forecast.observe(1ms, 1000);
  EXPECT_NEAR(forecast.computed_share(), 0.55, 1e-3);
}

TEST(QueueTime, is_tokens_over_rate) {
  EXPECT_EQ(queue_time(3000, 2000), 1500ms);
  EXPECT_EQ(queue_time(0, 2000), 0ms);
  EXPECT_GT(queue_time(1, 0), 1000s);
}

TEST(MeanStepTime, is_the_mean_of_the_first_and_then_follows) {
  MeanStepTime time;
  EXPECT_EQ(time.value(), std::nullopt);
  time.observe(10ms);
  time.observe(30ms);
  EXPECT_EQ(time.value(), 20ms);
  for (int i = 0; i < 200; ++i) {
    time.observe(100ms);
  }
  EXPECT_NEAR(static_cast<double>(time.value()->count()), 1e8, 1e6);
}

TEST(RowForecast, whoever_comes_waits_for_the_shortest_answer_that_runs) {
  RowForecast rows;
  rows.reset(3);
  rows.add_running(30, 30);
  rows.add_running(10, 40);
  EXPECT_EQ(rows.num_free_rows(), 1);
  EXPECT_EQ(rows.steps_until_row(), 10);
  rows.add_running(20, 20);
  EXPECT_EQ(rows.num_free_rows(), 0);
  EXPECT_EQ(rows.steps_until_row(), 10);
  EXPECT_EQ(rows.steps_each(), 10);  // 30 steps on average, in three rows
}

TEST(RowForecast, those_ahead_take_the_rows_that_come_free) {
  RowForecast rows;
  rows.reset(1);
  rows.add_running(500, 500);
  rows.add_waiting(100);
  EXPECT_EQ(rows.steps_until_row(), 600);
  rows.reset(2);
  rows.add_running(10, 10);
  rows.add_running(30, 30);
  rows.add_waiting(5);  // from 10 to 15
  EXPECT_EQ(rows.steps_until_row(), 15);
  rows.add_waiting(20);  // from 15 to 35
  EXPECT_EQ(rows.steps_until_row(), 30);
  rows.add_waiting_alike(4);  // (10 + 30 + 5 + 20) / 4 in two rows
  EXPECT_EQ(rows.steps_until_row(), 62.5);
}

TEST(RowForecast, those_who_wait_take_free_rows_first) {
  RowForecast rows;
  rows.reset(2);
  rows.add_waiting(7);
  EXPECT_EQ(rows.num_free_rows(), 1);
  rows.add_waiting(4);
  EXPECT_EQ(rows.num_free_rows(), 0);
  EXPECT_EQ(rows.steps_until_row(), 4);
}

TEST(QueueOutlook, a_free_row_and_no_queue_is_no_wait_and_known) {
  EXPECT_EQ(QueueOutlook().wait(0, 0), 0ms);
}

TEST(QueueOutlook, taken_rows_and_no_measured_step_is_not_known) {
  QueueOutlook outlook;
  outlook.num_free_rows = 0;
  EXPECT_EQ(outlook.wait(0, 0), std::nullopt);
  EXPECT_EQ(outlook.wait(1, 100), std::nullopt);
  EXPECT_EQ(QueueOutlook().wait(0, 100), std::nullopt);  // prompts wait, for nobody knows how long
}

TEST(QueueOutlook, who_came_since_takes_the_free_rows_or_waits_ahead) {
  QueueOutlook outlook;
  outlook.num_requests = 3;
  outlook.num_free_rows = 2;
  outlook.next_row = 4s;
  outlook.each_row = 500ms;
  outlook.tokens_per_second = 1000;
  EXPECT_EQ(outlook.wait(3, 0), 0ms);
  EXPECT_EQ(outlook.wait(4, 0), 0ms);
  EXPECT_EQ(outlook.wait(5, 0), 4s);
  EXPECT_EQ(outlook.wait(7, 0), 5s);
  EXPECT_EQ(outlook.wait(1, 0), 0ms);  // some of them have begun
}

TEST(QueueOutlook, prompts_that_are_computed_meanwhile_make_the_wait_for_a_row_longer) {
  QueueOutlook outlook;
  outlook.num_free_rows = 0;
  outlook.next_row = 2s;
  outlook.tokens_per_second = 1000;
  outlook.each_token = 1ms;
  outlook.num_running_tokens = 300;
  EXPECT_EQ(outlook.wait(0, 0), 2300ms);
  EXPECT_EQ(outlook.wait(0, 500), 2800ms);
  outlook.computed_share = 0.1;
  EXPECT_EQ(outlook.wait(0, 500), 2350ms);
  outlook.num_free_rows = 1;
  EXPECT_EQ(outlook.wait(0, 0), 0ms);
}

TEST(QueueOutlook, the_longer_wait_counts) {
  QueueOutlook outlook;
  outlook.num_free_rows = 0;
  outlook.next_row = 2s;
  outlook.tokens_per_second = 1000;
  EXPECT_EQ(outlook.wait(1, 500), 2s);
  EXPECT_EQ(outlook.wait(1, 6000), 6s);
  outlook.next_row.reset();
  EXPECT_EQ(outlook.wait(1, 6000), 6s);
}

}  // namespace
}  // namespace plumb
