// SPDX-License-Identifier: Apache-2.0
#include "scheduler/planner_test_scene.h"

namespace plumb {
namespace {

using Picks = std::vector<Pick>;
using Ids = std::vector<SeqId>;
using Scene = PlannerScene;

constexpr StepLimits kSmall = PlannerScene::kSmall;

TEST(Planner, nothing_to_do_gives_an_empty_plan) {
  Scene scene(kSmall);
  const Plan& plan = scene.plan();
  EXPECT_TRUE(plan.picks.empty() && plan.admits.empty() && plan.ended.empty());
}

TEST(Planner, decode_rows_come_first_and_prefill_takes_the_rest) {
  Scene scene(kSmall);
  scene.run(1, 9, 8);
  scene.run(2, 30, 4);
  scene.wait(3, 40);
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.picks, (Picks{{SeqId{1}, 1}, {SeqId{2}, 12}}));
  EXPECT_EQ(plan.num_new_blocks, 1 + 3);
}

TEST(Planner, a_new_sequence_joins_a_running_batch) {
  Scene scene(kSmall);
  scene.run(1, 9, 8);
  scene.wait(2, 7);
  scene.wait(3, 30);
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.admits, (Ids{SeqId{2}, SeqId{3}}));
  EXPECT_EQ(plan.picks, (Picks{{SeqId{1}, 1}, {SeqId{2}, 7}, {SeqId{3}, 8}}));
}

TEST(Planner, the_cached_prefix_of_a_new_sequence_takes_no_blocks_and_no_tokens) {
  Scene scene(kSmall);
  scene.wait(1, 30, 24);
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.picks, (Picks{{SeqId{1}, 6}}));
  EXPECT_EQ(plan.num_new_blocks, 2);
}

TEST(Planner, decode_never_starves_prefill) {
  Scene scene({.max_num_seqs = 32, .max_num_tokens = 16, .merge_tokens = 0, .block_size = 4});
  for (std::uint64_t i = 1; i <= 20; ++i) {
    scene.run(i, 3, 2);
  }
  scene.wait(30, 100);
  EXPECT_EQ(scene.plan().picks.back(), (Pick{SeqId{30}, 4}));
}

TEST(Planner, no_more_sequences_run_than_the_limit) {
  Scene scene(kSmall);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    scene.run(i, 3, 2);
  }
  scene.wait(8, 2);
  scene.wait(9, 2);
  EXPECT_EQ(scene.plan().admits, Ids{SeqId{8}});
}

TEST(Planner, a_sequence_whose_deadline_passed_in_the_queue_is_ended_not_run) {
  Scene scene(kSmall, 4);
  scene.wait(1, 5);
  scene.deadlines = {{SeqId{1}, scene.clock.now() + std::chrono::seconds(1)}};
  scene.clock.advance(std::chrono::seconds(2));
  scene.state.now = scene.clock.now();
  const Plan& plan = scene.plan();
  EXPECT_TRUE(plan.picks.empty());
  EXPECT_EQ(plan.ended, (std::vector<Ended>{{SeqId{1}, Code::kDeadlineExceeded}}));
}

TEST(Planner, a_running_sequence_ends_at_its_deadline_and_not_before) {
  Scene scene(kSmall);
  scene.run(1, 9, 8);
  scene.deadlines = {{SeqId{1}, scene.clock.now() + std::chrono::seconds(1)}};
  scene.state.now = scene.clock.now();
  EXPECT_TRUE(scene.plan().ended.empty());
  scene.state.now += std::chrono::seconds(1);
  EXPECT_EQ(scene.plan().ended.size(), 1U);
}

TEST(Planner, what_nobody_uses_is_evicted_before_anyone_is_preempted) {
  Scene scene(kSmall, 6);
  scene.run(1, 9, 8);
  scene.run(2, 9, 8);
  scene.state.num_evictable_blocks = 2;
  scene.state.num_free_blocks = 0;
  const Plan& plan = scene.plan();
  EXPECT_TRUE(plan.preempts.empty());
  EXPECT_EQ(plan.num_new_blocks, 2);
}

TEST(Planner, a_full_cache_preempts_the_cheapest_and_admits_nobody) {
  Scene scene(kSmall, 6);
  scene.run(1, 9, 8).num_recompute_tokens = 2;
  scene.run(2, 9, 8).num_recompute_tokens = 1;
  scene.run(3, 9, 8).num_recompute_tokens = 2;
  scene.wait(4, 1);
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.preempts, Ids{SeqId{2}});
  EXPECT_EQ(plan.picks, (Picks{{SeqId{1}, 1}, {SeqId{3}, 1}}));
  EXPECT_TRUE(plan.admits.empty());
}

TEST(Planner, the_last_sequence_is_never_preempted) {
  Scene scene(kSmall, 4);
  scene.run(1, 9, 8).num_reclaimable_blocks = 0;  // both hold the same shared blocks
  scene.run(2, 9, 8).num_reclaimable_blocks = 0;
  scene.state.num_free_blocks = 0;
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.preempts.size(), 1U);
  EXPECT_EQ(plan.picks, (Picks{{SeqId{1}, 1}}));
}

TEST(Planner, a_sequence_that_outgrows_the_whole_pool_is_ended) {
  Scene scene(kSmall, 2);
  scene.run(1, 9, 8);
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.ended, (std::vector<Ended>{{SeqId{1}, Code::kResourceExhausted}}));
  EXPECT_TRUE(plan.picks.empty());
}

TEST(Planner, unfinished_prefills_that_fill_the_cache_make_room_for_the_first) {
  Scene scene(kSmall, 4);
  scene.run(1, 16, 8);
  scene.run(2, 16, 8);
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.preempts, Ids{SeqId{2}});
  EXPECT_EQ(plan.picks, (Picks{{SeqId{1}, 8}}));
}

TEST(Planner, admission_keeps_room_for_what_is_still_to_come) {
  StepLimits limits{.max_num_seqs = 8, .max_num_tokens = 8000, .merge_tokens = 0, .block_size = 1};
  Scene scene(limits, 8000);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    scene.run(i, 2, 1).num_blocks = 0;
  }
  scene.state.num_free_blocks = 5004;  // four go to this step's decode rows
  scene.state.num_evictable_blocks = 3000;
  scene.wait(11, 2000);
  scene.wait(12, 2500);
  const Plan& plan = scene.plan(500);  // 8000 - 4 * 500 = 6000 >= 2000 + 501; 3499 >= 2500 + 501
  EXPECT_EQ(plan.admits, (Ids{SeqId{11}, SeqId{12}}));
  scene.waiting[1].num_tokens = 3000;
  EXPECT_EQ(scene.plan(500).admits, (Ids{SeqId{11}}));  // 3499 < 3501
}

TEST(Planner, later_sequences_do_not_take_what_the_first_one_waits_for) {
  Scene scene(kSmall, 10);
  scene.run(1, 20, 19);
  scene.wait(2, 30);
  scene.wait(3, 2);
  EXPECT_TRUE(scene.plan().admits.empty());
}

TEST(Planner, a_sequence_lets_its_twin_compute_the_shared_prefix_first) {
  Scene scene(kSmall);
  scene.wait(1, 10);
  scene.wait(2, 10);
  scene.wait(3, 5);
  scene.waiting[1].num_shared_tokens = 8;
  EXPECT_EQ(scene.plan().admits, (Ids{SeqId{1}, SeqId{3}}));
  scene.waiting[1].num_computed = 8;  // the twin is done
  EXPECT_EQ(scene.plan().admits, (Ids{SeqId{1}, SeqId{2}, SeqId{3}}));
  scene.waiting[1].num_computed = 0;
  scene.waiting[1].num_shared_tokens = 4;  // less than half of it: not worth a step
  EXPECT_EQ(scene.plan().admits, (Ids{SeqId{1}, SeqId{2}}));
}

TEST(Planner, with_nothing_running_the_first_starts_even_beyond_the_reserve) {
  Scene scene(kSmall, 3);
  scene.wait(1, 12);
  scene.wait(2, 1);
  EXPECT_EQ(scene.plan(100).admits, Ids{SeqId{1}});
}

TEST(Planner, a_sequence_that_can_never_fit_is_ended_and_the_next_one_starts) {
  Scene scene(kSmall, 3);
  scene.wait(1, 13);
  scene.wait(2, 3);
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.ended, (std::vector<Ended>{{SeqId{1}, Code::kResourceExhausted}}));
  EXPECT_EQ(plan.admits, Ids{SeqId{2}});
}

TEST(Planner, after_a_preemption_admission_waits_until_enough_is_free) {
  Scene scene(kSmall, 10);
  scene.run(1, 5, 4);
  scene.wait(2, 2);
  scene.state.hold_blocks = 9;
  EXPECT_TRUE(scene.plan().admits.empty());
  scene.state.hold_blocks = 8;
  EXPECT_EQ(scene.plan().admits.size(), 1U);
}

TEST(Planner, prefill_first_lets_decode_rows_wait_but_not_for_ever) {
  StepLimits limits = kSmall;
  limits.mixing = Mixing::kPrefillFirst;
  Scene scene(limits);
  scene.run(1, 9, 8);
  scene.wait(2, 40);
  EXPECT_EQ(scene.plan().picks, (Picks{{SeqId{2}, 16}}));
  scene.state.num_stalled_steps = 8;
  EXPECT_EQ(scene.plan().picks, (Picks{{SeqId{1}, 1}, {SeqId{2}, 12}}));
  scene.state.num_stalled_steps = 0;
  scene.waiting.clear();
  EXPECT_EQ(scene.plan().picks, (Picks{{SeqId{1}, 1}}));
}

TEST(Planner, adaptive_mixing_gives_prefill_what_the_steps_time_leaves) {
  StepLimits limits{.max_num_seqs = 8, .max_num_tokens = 512, .merge_tokens = 0, .block_size = 4};
  limits.mixing = Mixing::kAdaptive;
  limits.step_target = std::chrono::milliseconds(50);
  Scene scene(limits, 1000);
  scene.run(1, 9, 8);
  scene.wait(2, 700);
  scene.make_planner();
  for (int i = 0; i < 40; ++i) {  // 12 ms without prefill, 0.5 ms a prefill token
    const std::int64_t prefill = i % 2 == 0 ? 0 : 20 + i;
    scene.planner->observe(
        {.num_running = 1,
         .shape = {1, 9, prefill},
         .time = std::chrono::milliseconds(12) + prefill * std::chrono::microseconds(500)});
  }
  const Plan& mixed = scene.replan();  // (50 - 12) / 0.5 = 76 tokens
  EXPECT_EQ(mixed.picks[0], (Pick{SeqId{1}, 1}));
  EXPECT_NEAR(static_cast<double>(mixed.picks[1].num_tokens), 72, 4);
  EXPECT_NEAR(static_cast<double>(mixed.prefill_allowance), 76, 2);
  scene.running.clear();  // nobody's time to keep: equal halves of 700
  scene.state.num_free_blocks = 1000;
  EXPECT_EQ(scene.replan().picks, (Picks{{SeqId{2}, 352}}));
}

TEST(Planner, adaptive_mixing_leaves_prefill_a_block_however_slow_the_step) {
  StepLimits limits = kSmall;
  limits.mixing = Mixing::kAdaptive;
  limits.step_target = std::chrono::milliseconds(1);
  Scene scene(limits);
  scene.run(1, 9, 8);
  scene.wait(2, 40);
  scene.make_planner();
  for (int i = 0; i < 40; ++i) {
    scene.planner->observe(
        {.num_running = 1, .shape = {1, 9, i % 2 * 8}, .time = std::chrono::milliseconds(20 + i)});
  }
  EXPECT_EQ(scene.replan().picks, (Picks{{SeqId{1}, 1}, {SeqId{2}, 4}}));
}

TEST(ValidatePlan, refuses_what_the_state_does_not_allow) {
  Scene scene(kSmall, 4);
  scene.run(1, 9, 8);
  scene.state.running = scene.running;
  Plan plan;
  plan.picks = {{SeqId{1}, 2}};
  EXPECT_FALSE(validate(plan, scene.state, kSmall).ok());  // more than it has
  plan.picks = {{SeqId{7}, 1}};
  EXPECT_FALSE(validate(plan, scene.state, kSmall).ok());  // unknown
  plan.picks = {{SeqId{1}, 1}};
  EXPECT_FALSE(validate(plan, scene.state, kSmall).ok());  // wrong number of blocks
  plan.num_new_blocks = 1;
  EXPECT_TRUE(validate(plan, scene.state, kSmall).ok());
  plan.picks.push_back({SeqId{1}, 1});
  plan.num_new_blocks = 2;
  EXPECT_FALSE(validate(plan, scene.state, kSmall).ok());  // twice
  plan.picks.pop_back();
  plan.num_new_blocks = 1;
  plan.admits = {SeqId{5}};
  EXPECT_FALSE(validate(plan, scene.state, kSmall).ok());  // admitted and not picked
  plan.admits.clear();
  plan.ended = {{SeqId{1}, Code::kCancelled}};
  EXPECT_FALSE(validate(plan, scene.state, kSmall).ok());  // ended and picked
}

}  // namespace
}  // namespace plumb
