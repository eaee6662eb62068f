// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scheduler/schedule_policy.h"

namespace plumb {
namespace {

using Indices = std::vector<std::int64_t>;

SeqSnapshot queued(std::uint64_t id, std::int64_t num_tokens, std::int64_t num_cached = 0) {
  return {.id = SeqId{id}, .num_tokens = num_tokens, .num_computed = num_cached};
}

Indices order(ScheduleOrder policy, const std::vector<SeqSnapshot>& queue,
              const std::vector<SeqSnapshot>& running = {}) {
  return make_schedule_policy(policy)->order(queue, running);
}

TEST(LongestPrefixPolicy, what_is_cached_most_comes_first_and_equals_stay_in_order) {
  const std::vector<SeqSnapshot> queue{queued(1, 100, 16), queued(2, 100, 64), queued(3, 100, 16),
                                       queued(4, 100, 96)};
  EXPECT_EQ(order(ScheduleOrder::kLpm, queue), (Indices{3, 1, 0, 2}));
  const Reordering wanted = make_schedule_policy(ScheduleOrder::kLpm)->reordering();
  EXPECT_EQ(wanted.window, 128);
  EXPECT_TRUE(wanted.only_whole && wanted.needs_cache);
}

TEST(ResponseRatioPolicy, tokens_waited_count_against_tokens_to_compute) {
  std::vector<SeqSnapshot> queue{queued(1, 1000), queued(2, 100), queued(3, 400, 399)};
  queue[0].tokens_waited = 5000;  // ratio 5
  queue[1].tokens_waited = 400;   // ratio 4
  queue[2].tokens_waited = 10;    // one token to compute: ratio 10
  EXPECT_EQ(order(ScheduleOrder::kHrrn, queue), (Indices{2, 0, 1}));
  queue[1].tokens_waited = 600;  // the short one has waited long enough
  EXPECT_EQ(order(ScheduleOrder::kHrrn, queue), (Indices{2, 1, 0}));
}

TEST(ShortestPrefillPolicy, fewest_tokens_to_compute_come_first) {
  const std::vector<SeqSnapshot> queue{queued(1, 500), queued(2, 20), queued(3, 600, 590),
                                       queued(4, 20)};
  EXPECT_EQ(order(ScheduleOrder::kShortestPrefillFirst, queue), (Indices{2, 1, 3, 0}));
}

TEST(ShortestPrefillPolicy, a_long_prefill_leaves_room_for_a_shorter_one) {
  const auto policy = make_schedule_policy(ScheduleOrder::kShortestPrefillFirst);
  const Budget budget{.num_tokens = 512};
  const std::vector<SeqSnapshot> short_one{queued(2, 40)};
  EXPECT_EQ(policy->hold_back(queued(1, 5000), short_one, budget), 40);
  const std::vector<SeqSnapshot> medium{queued(2, 400)};
  EXPECT_EQ(policy->hold_back(queued(1, 5000), medium, budget), 256);
  EXPECT_EQ(policy->hold_back(queued(1, 30), short_one, budget), 0);
  EXPECT_EQ(make_schedule_policy(ScheduleOrder::kFcfs)->hold_back(queued(1, 5000), medium, budget),
            0);
}

TEST(RoutingKeyPolicy, keys_that_run_come_first_the_most_frequent_before_others) {
  std::vector<SeqSnapshot> running{queued(1, 5), queued(2, 5), queued(3, 5), queued(4, 5)};
  running[0].routing_key = "b";
  running[1].routing_key = "a";
  running[2].routing_key = "b";  // the fourth has none
  std::vector<SeqSnapshot> queue{queued(5, 5), queued(6, 5), queued(7, 5), queued(8, 5),
                                 queued(9, 5)};
  queue[0].routing_key = "z";
  queue[2].routing_key = "a";
  queue[3].routing_key = "b";
  queue[4].routing_key = "a";
  EXPECT_EQ(order(ScheduleOrder::kRoutingKey, queue, running), (Indices{3, 2, 4, 0, 1}));
  running[3].routing_key = "a";  // two of each: by key
  EXPECT_EQ(order(ScheduleOrder::kRoutingKey, queue, running), (Indices{2, 4, 3, 0, 1}));
}

TEST(DfsWeightPolicy, the_branch_that_most_wait_for_comes_first_and_its_depths_before_itself) {
  // root -> 1 -> 2 (two wait, one more at 1 itself); root -> 9 -> 8 -> {7, 6} (one each, one at 8).
  const std::vector<std::uint64_t> at_1{1};
  const std::vector<std::uint64_t> at_12{1, 2};
  const std::vector<std::uint64_t> at_98{9, 8};
  const std::vector<std::uint64_t> at_987{9, 8, 7};
  const std::vector<std::uint64_t> at_986{9, 8, 6};
  std::vector<SeqSnapshot> queue{queued(1, 9), queued(2, 9), queued(3, 9), queued(4, 9),
                                 queued(5, 9), queued(6, 9), queued(7, 9), queued(8, 9)};
  queue[1].prefix_hashes = at_1;
  queue[2].prefix_hashes = at_98;
  queue[3].prefix_hashes = at_12;
  queue[4].prefix_hashes = at_987;
  queue[5].prefix_hashes = at_986;
  queue[6].prefix_hashes = at_12;
  queue[7].prefix_hashes = at_987;  // the branch of 9 has four, that of 1 three; 7 has two, 6 one
  EXPECT_EQ(order(ScheduleOrder::kDfsWeight, queue), (Indices{4, 7, 5, 2, 3, 6, 1, 0}));
}

TEST(DfsWeightPolicy, without_cached_prefixes_it_is_the_order_of_arrival) {
  const std::vector<SeqSnapshot> queue{queued(1, 9), queued(2, 9), queued(3, 9)};
  EXPECT_EQ(order(ScheduleOrder::kDfsWeight, queue), (Indices{0, 1, 2}));
  EXPECT_EQ(order(ScheduleOrder::kDfsWeight, {}), Indices{});
}

}  // namespace
}  // namespace plumb
