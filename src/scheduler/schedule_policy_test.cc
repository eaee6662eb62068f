// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule_policy.h"

#include <gtest/gtest.h>

#include "scheduler/preempt_policy.h"

namespace plumb {
namespace {

SeqSnapshot waiting(std::uint64_t id, std::int64_t num_tokens, std::int64_t priority = 0) {
  return {.id = SeqId{id}, .priority = priority, .num_tokens = num_tokens};
}

using Picks = std::vector<Pick>;

TEST(FcfsPolicy, the_first_gets_all_it_needs_and_the_next_the_rest) {
  const auto policy = make_schedule_policy(ScheduleOrder::kFcfs);
  const std::vector<SeqSnapshot> queue{waiting(1, 5), waiting(2, 8)};
  EXPECT_EQ(policy->pick(queue, {.num_tokens = 8, .num_seqs = 4}),
            (Picks{{SeqId{1}, 5}, {SeqId{2}, 3}}));
  EXPECT_EQ(policy->pick(queue, {.num_tokens = 0, .num_seqs = 4}), Picks{});
  EXPECT_EQ(policy->pick(queue, {.num_tokens = 8, .num_seqs = 1}), (Picks{{SeqId{1}, 5}}));
  EXPECT_EQ(policy->pick({}, {.num_tokens = 8, .num_seqs = 4}), Picks{});
}

TEST(FcfsPolicy, a_short_prompt_passes_long_ones_when_enough_are_unfinished) {
  const auto policy = make_schedule_policy(ScheduleOrder::kFcfs);
  const std::vector<SeqSnapshot> queue{waiting(1, 1000), waiting(2, 4)};
  const Budget budget{.num_tokens = 64, .num_seqs = 4, .num_partials = 0, .block_size = 16};
  EXPECT_EQ(policy->pick(queue, budget), (Picks{{SeqId{2}, 4}}));
}

TEST(PriorityPolicy, more_important_sequences_are_first_then_older_ones) {
  const auto policy = make_schedule_policy(ScheduleOrder::kPriority);
  EXPECT_LT(policy->key(waiting(9, 1, 5)), policy->key(waiting(1, 1, 0)));
  EXPECT_LT(policy->key(waiting(1, 1, 5)), policy->key(waiting(2, 1, 5)));
  const auto fcfs = make_schedule_policy(ScheduleOrder::kFcfs);
  EXPECT_LT(fcfs->key(waiting(1, 1, 0)), fcfs->key(waiting(9, 1, 5)));
}

TEST(PriorityPolicy, waiting_counts_as_priority_and_two_that_wait_keep_their_order) {
  const auto policy =
      make_schedule_policy(ScheduleOrder::kPriority, std::chrono::milliseconds(100));
  SeqSnapshot old = waiting(1, 1, 0);
  SeqSnapshot important = waiting(2, 1, 3);
  important.submitted = std::chrono::milliseconds(299);  // 2.99 steps later, 3 more important
  EXPECT_LT(policy->key(important), policy->key(old));
  important.submitted = std::chrono::milliseconds(301);
  EXPECT_LT(policy->key(old), policy->key(important));
}

TEST(LofPolicy, the_longest_output_comes_first_and_by_priority_within_equals) {
  SeqSnapshot brief = waiting(1, 1, 5);
  brief.max_output = 10;
  SeqSnapshot lengthy = waiting(2, 1, 0);
  lengthy.max_output = 1000;
  const auto lof = make_schedule_policy(ScheduleOrder::kLof);
  EXPECT_LT(lof->key(lengthy), lof->key(brief));
  const auto by_priority = make_schedule_policy(ScheduleOrder::kPriorityLof);
  EXPECT_LT(by_priority->key(brief), by_priority->key(lengthy));
  lengthy.priority = 5;
  EXPECT_LT(by_priority->key(lengthy), by_priority->key(brief));
}

TEST(LofPolicy, ages_in_whole_steps_of_priority) {
  const auto policy =
      make_schedule_policy(ScheduleOrder::kPriorityLof, std::chrono::milliseconds(100));
  SeqSnapshot brief = waiting(1, 1, 0);
  brief.max_output = 10;
  SeqSnapshot lengthy = waiting(2, 1, 0);
  lengthy.max_output = 1000;
  lengthy.submitted = std::chrono::milliseconds(99);  // the same step: longer first
  EXPECT_LT(policy->key(lengthy), policy->key(brief));
  lengthy.submitted = std::chrono::milliseconds(100);
  EXPECT_LT(policy->key(brief), policy->key(lengthy));
}

TEST(RandomPolicy, has_an_order_of_its_own_that_does_not_change) {
  const auto policy = make_schedule_policy(ScheduleOrder::kRandom);
  int num_swapped = 0;
  for (std::uint64_t id = 1; id <= 100; ++id) {
    EXPECT_EQ(policy->key(waiting(id, 1)), policy->key(waiting(id, 7, 3)));
    num_swapped += policy->key(waiting(id + 1, 1)) < policy->key(waiting(id, 1)) ? 1 : 0;
  }
  EXPECT_GT(num_swapped, 30);
  EXPECT_LT(num_swapped, 70);
}

TEST(LeastRecompute, takes_the_one_with_least_to_compute_again_and_of_equals_the_newest) {
  std::vector<SeqSnapshot> running{waiting(1, 10), waiting(2, 10), waiting(3, 10)};
  running[0].num_recompute_tokens = 7;
  running[1].num_recompute_tokens = 3;
  running[2].num_recompute_tokens = 3;
  const auto policy = make_least_recompute();
  EXPECT_EQ(policy->victim(running), 2);
  running[0].num_recompute_tokens = 1;
  EXPECT_EQ(policy->victim(running), 0);
}

TEST(LeastRecompute, takes_the_less_important_first_and_spares_the_often_preempted) {
  std::vector<SeqSnapshot> running{waiting(1, 10, 1), waiting(2, 10, 0), waiting(3, 10, 0)};
  running[2].num_preemptions = 3;
  running[1].num_recompute_tokens = 100;
  const auto policy = make_least_recompute();
  EXPECT_EQ(policy->victim(running), 1);
  running.erase(running.begin() + 1);
  EXPECT_EQ(policy->victim(running), 1);  // still before a more important one
}

}  // namespace
}  // namespace plumb
