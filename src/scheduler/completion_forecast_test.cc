// SPDX-License-Identifier: Apache-2.0
#include "scheduler/completion_forecast.h"

#include <gtest/gtest.h>
#include <random>

namespace plumb {
namespace {

CompletionForecast forecast(std::int64_t free, const std::vector<ExpectedEnd>& ends) {
  CompletionForecast result;
  result.reset(free, 1, ends);
  return result;
}

TEST(CompletionForecast, early_ends_make_room_for_the_late_ones) {
  // 350 - 100 * 3 = 50; 350 + 300 - 200 * 2 = 250; 350 + 800 - 400 = 750: though 700 > 350.
  const CompletionForecast three = forecast(350, {{400, 200}, {100, 300}, {200, 500}});
  EXPECT_TRUE(three.holds());
  EXPECT_LT(three.room_at_worst(), 0);
  EXPECT_FALSE(forecast(303, {{400, 200}, {100, 300}, {200, 500}}).holds());
  EXPECT_TRUE(forecast(304, {{400, 200}, {100, 300}, {200, 500}}).holds());
}

TEST(CompletionForecast, a_late_shortage_is_seen) {
  EXPECT_FALSE(forecast(350, {{100, 10}, {400, 200}}).holds());
  EXPECT_TRUE(forecast(401, {{400, 200}}).room_at_worst() > 0);
}

TEST(CompletionForecast, says_when_room_will_be_there) {
  const CompletionForecast three = forecast(350, {{100, 300}, {200, 500}, {400, 200}});
  EXPECT_EQ(three.steps_until_free(400), 100);  // 350 + 300 - 2 * 101 = 448
  EXPECT_EQ(three.steps_until_free(448), 100);
  EXPECT_EQ(three.steps_until_free(449), 200);
  EXPECT_EQ(three.steps_until_free(1350), 400);
  EXPECT_EQ(three.steps_until_free(1351), CompletionForecast::kNever);
}

TEST(CompletionForecast, what_was_added_can_be_taken_out) {
  CompletionForecast three = forecast(350, {{100, 300}, {200, 500}, {400, 200}});
  three.add_new(50, 340);
  EXPECT_FALSE(three.holds());
  three.remove_new(50, 340);
  EXPECT_TRUE(three.holds());
  EXPECT_EQ(three.steps_until_free(449), 200);
}

// Against a cache that is stepped token by token.
TEST(CompletionForecast, agrees_with_running_every_step) {
  std::mt19937 random(1);
  int num_holding = 0;
  for (int round = 0; round < 2000; ++round) {
    struct Seq {
      std::int64_t left = 0;
      std::int64_t held = 0;
    };

    std::vector<Seq> seqs(1 + random() % 6);
    CompletionForecast forecast;
    std::vector<ExpectedEnd> ends;
    auto free = static_cast<std::int64_t>(random() % 120);
    for (Seq& seq : seqs) {
      seq = {1 + static_cast<std::int64_t>(random() % 40),
             static_cast<std::int64_t>(random() % 60)};
      ends.push_back({seq.left, seq.held});
    }
    forecast.reset(free, 0, ends);
    bool holds = true;
    while (!seqs.empty()) {
      for (Seq& seq : seqs) {
        --free;
        --seq.left;
        ++seq.held;
      }
      holds = holds && free > 0;
      for (std::size_t i = 0; i < seqs.size();) {
        if (seqs[i].left == 0) {
          free += seqs[i].held;
          seqs.erase(seqs.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
    }
    EXPECT_EQ(forecast.holds(), holds) << round;
    num_holding += holds ? 1 : 0;
  }
  EXPECT_GT(num_holding, 300);
  EXPECT_LT(num_holding, 1700);
}

}  // namespace
}  // namespace plumb
