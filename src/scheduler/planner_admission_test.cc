// SPDX-License-Identifier: Apache-2.0
#include "scheduler/planner_test_scene.h"

namespace plumb {
namespace {

using Ids = std::vector<SeqId>;
using Picks = std::vector<Pick>;

// Two rows, threshold 10.
PlannerScene priorities(std::int64_t max_num_seqs) {
  StepLimits limits = PlannerScene::kSmall;
  limits.max_num_seqs = max_num_seqs;
  limits.displace_threshold = 10;
  PlannerScene scene(limits);
  scene.order = ScheduleOrder::kPriority;
  return scene;
}

TEST(Displacement, takes_the_newest_of_the_least_important_and_nobody_within_the_threshold) {
  PlannerScene scene = priorities(3);
  scene.run(1, 9, 8);               // A
  scene.run(2, 9, 8);               // B, newer
  scene.run(3, 9, 8).priority = 5;  // C
  scene.wait(11, 4).priority = 12;
  const Plan& first = scene.plan();
  EXPECT_EQ(first.preempts, Ids{SeqId{2}});
  EXPECT_EQ(first.num_displaced, 1);
  EXPECT_EQ(first.admits, Ids{SeqId{11}});
  EXPECT_EQ(first.picks, (Picks{{SeqId{1}, 1}, {SeqId{3}, 1}, {SeqId{11}, 4}}));
  scene.wait(12, 4).priority = 12;
  EXPECT_EQ(scene.plan().preempts, (Ids{SeqId{2}, SeqId{1}}));
  scene.wait(13, 4).priority = 12;  // C is 7 less important: no more than the threshold
  EXPECT_EQ(scene.plan().preempts, (Ids{SeqId{2}, SeqId{1}}));
}

TEST(Displacement, the_difference_must_be_greater_than_the_threshold) {
  // Low first, as the engine hands it over: priorities 20 and 30 run, 10 waits.
  PlannerScene scene = priorities(2);
  scene.run(1, 9, 8).priority = -20;
  scene.run(2, 9, 8).priority = -30;
  scene.wait(3, 4).priority = -10;
  EXPECT_EQ(scene.plan().preempts, Ids{SeqId{2}});
  scene.running[1].priority = -20;
  EXPECT_TRUE(scene.plan().preempts.empty());
}

TEST(Displacement, counts_what_a_victim_holds_so_that_no_more_are_taken_than_needed) {
  PlannerScene scene = priorities(4);
  scene.state.num_blocks = scene.state.num_free_blocks = 12;
  scene.run(1, 24, 23);  // 6 blocks each
  scene.run(2, 24, 23);
  scene.wait(3, 12).priority = 20;  // 3 and one to spare: the blocks of one do
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.preempts, Ids{SeqId{2}});
  EXPECT_EQ(plan.picks.back(), (Pick{SeqId{3}, 12}));
  EXPECT_EQ(plan.num_new_blocks, 3);
}

TEST(Displacement, does_not_count_what_a_newcomer_shares_with_its_victim_as_free) {
  PlannerScene scene = priorities(4);
  scene.state.num_blocks = scene.state.num_free_blocks = 8;
  scene.run(1, 24, 23);  // 6 blocks
  SeqSnapshot& sharing = scene.wait(2, 24);
  sharing.priority = 20;
  sharing.num_computed = 16;        // 4 blocks, held by the running one
  scene.wait(3, 14).priority = 20;  // 4 blocks: of 8, the newcomer has 6
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.preempts, Ids{SeqId{1}});
  EXPECT_EQ(plan.admits, Ids{SeqId{2}});
}

TEST(Displacement, happens_not_at_all_where_all_victims_together_would_not_do) {
  PlannerScene scene = priorities(4);
  scene.state.num_blocks = scene.state.num_free_blocks = 12;
  scene.run(1, 24, 23).priority = 15;
  scene.run(2, 24, 23);
  scene.wait(3, 40).priority = 20;
  EXPECT_TRUE(scene.plan().preempts.empty());
}

TEST(Displacement, leaves_shared_blocks_out_of_the_account) {
  PlannerScene scene = priorities(4);
  scene.state.num_blocks = scene.state.num_free_blocks = 12;
  scene.run(1, 24, 23);
  scene.run(2, 24, 23).num_reclaimable_blocks = 1;  // five are of a shared prefix
  scene.wait(3, 16).priority = 20;
  EXPECT_EQ(scene.plan().preempts, (Ids{SeqId{2}, SeqId{1}}));
}

TEST(Displacement, does_not_count_the_blocks_with_which_the_important_one_begins) {
  PlannerScene scene = priorities(4);
  scene.state.num_blocks = scene.state.num_free_blocks = 12;
  scene.run(1, 24, 23);
  scene.run(2, 24, 23);
  // Five blocks of its prefix are those of the second: it leaves one.
  scene.wait(3, 29, 20).priority = 20;
  EXPECT_EQ(scene.plan().preempts, (Ids{SeqId{2}, SeqId{1}}));
}

TEST(Displacement, is_off_without_a_threshold) {
  PlannerScene scene = priorities(1);
  scene.limits.displace_threshold = -1;
  scene.run(1, 9, 8);
  scene.wait(2, 4).priority = 1000;
  EXPECT_TRUE(scene.plan().preempts.empty());
}

// Room judged by simulation; blocks of one token.
PlannerScene simulation(std::int64_t num_blocks) {
  StepLimits limits{.max_num_seqs = 8, .max_num_tokens = 8000, .merge_tokens = 0, .block_size = 1};
  limits.simulates_completion = true;
  limits.skip_ahead = 8;
  return PlannerScene(limits, num_blocks);
}

TEST(Admission, by_simulation_takes_what_early_ends_make_room_for) {
  // Each of three runs for 100 more steps: 300 of the 350 that are free beyond this step.
  PlannerScene scene = simulation(1000);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    scene.run(id, 201, 200);
  }
  scene.state.num_free_blocks = 353;
  scene.state.num_blocks = 953;
  scene.wait(4, 40);
  EXPECT_TRUE(scene.plan(100).admits.empty());  // 350 - 41 - 4 * 100 < 4
  scene.state.num_free_blocks = 453;
  scene.state.num_blocks = 1053;
  EXPECT_EQ(scene.plan(100).admits, Ids{SeqId{4}});  // 450 - 41 - 400 = 9 > 4
}

// The sum of all reserves: 8000 - 4 * 500 = 6000.
TEST(Admission, by_ratio_sums_what_all_may_take) {
  PlannerScene scene = simulation(8000);
  scene.limits.simulates_completion = false;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    scene.run(id, 2, 1).num_blocks = 0;
  }
  scene.state.num_free_blocks = 8008;  // two each for this step
  scene.wait(11, 2000);                // 2000 + 500 + 1: 3499 are left
  scene.wait(12, 2999);
  EXPECT_EQ(scene.plan(500).admits, Ids{SeqId{11}});  // 3500 > 3499
  scene.waiting[1].num_tokens = 2998;
  EXPECT_EQ(scene.plan(500).admits, (Ids{SeqId{11}, SeqId{12}}));
}

// One runs for 10 more steps and holds 50 of 100; the first that waits needs 70.
PlannerScene blocked_first() {
  PlannerScene scene = simulation(100);
  scene.run(1, 51, 50);
  scene.wait(2, 59);  // and 10 to come and one to spare
  return scene;
}

TEST(SkipAhead, later_ones_pass_that_leave_the_first_its_room_when_it_comes) {
  PlannerScene scene = blocked_first();
  scene.wait(3, 10);
  const Plan& plan = scene.plan(10);
  EXPECT_EQ(plan.admits, Ids{SeqId{3}});
  EXPECT_EQ(plan.passed, SeqId{2});
  EXPECT_EQ(plan.num_passing, 1);
}

TEST(SkipAhead, nobody_passes_who_would_delay_the_first) {
  PlannerScene scene = blocked_first();
  scene.wait(3, 20);  // alone it finds room, but then the first does not when the running one ends
  scene.waiting.back().max_output = 1000;
  scene.make_planner(10);
  EXPECT_EQ(scene.replan().admits, Ids{SeqId{3}});  // it ends at the same time

  class LongForThree final : public AdmissionPolicy {
   public:
    std::int64_t reserve_running(const SeqSnapshot&) const override { return 10; }

    std::int64_t reserve_new(const SeqSnapshot& seq) const override {
      return seq.id == SeqId{3} ? 12 : 10;
    }

    void observe(const StepOutcome&) override {}
  };

  scene.planner =
      std::make_unique<Planner>(scene.limits, make_schedule_policy(scene.order),
                                make_least_recompute(), std::make_unique<LongForThree>());
  EXPECT_TRUE(scene.replan().admits.empty());
  scene.waiting.back().num_tokens = 6;
  EXPECT_EQ(scene.replan().admits, Ids{SeqId{3}});
}

TEST(SkipAhead, only_so_many_are_tried_and_a_first_that_was_passed_often_is_passed_no_more) {
  PlannerScene scene = blocked_first();
  for (std::uint64_t id = 3; id < 11; ++id) {
    scene.wait(id, 200);  // eight without room
  }
  scene.wait(11, 2);
  EXPECT_TRUE(scene.plan(10).admits.empty());
  scene.waiting.erase(scene.waiting.begin() + 1);
  EXPECT_EQ(scene.plan(10).admits, Ids{SeqId{11}});
  scene.waiting.front().num_passed = 64;
  EXPECT_TRUE(scene.plan(10).admits.empty());
}

TEST(ValidatePlan, refuses_to_displace_the_important) {
  PlannerScene scene = priorities(1);
  scene.run(1, 9, 8);
  scene.wait(2, 4).priority = 10;
  scene.state.running = scene.running;
  scene.state.waiting = scene.waiting;
  Plan plan;
  plan.preempts = {SeqId{1}};
  plan.num_displaced = 1;
  plan.admits = {SeqId{2}};
  plan.picks = {{SeqId{2}, 4}};
  plan.num_new_blocks = 1;
  EXPECT_NE(validate(plan, scene.state, scene.limits).message().find("too important"),
            std::string::npos);
  scene.waiting.front().priority = 11;
  EXPECT_EQ(validate(plan, scene.state, scene.limits).message(), "");
  plan.num_displaced = 0;  // for want of room, and yet somebody begins
  EXPECT_FALSE(validate(plan, scene.state, scene.limits).ok());
}

}  // namespace
}  // namespace plumb
