// SPDX-License-Identifier: Apache-2.0
#include "scheduler/planner_test_scene.h"

namespace plumb {
namespace {

// Blocks of 4 tokens, a window of 8: a decoding sequence holds at most 4 window blocks.
struct WindowScene : PlannerScene {
  explicit WindowScene(std::int64_t num_window_blocks) : PlannerScene(kSmall, 1000) {
    limits.window = 8;
    limits.max_num_seqs = 10;
    limits.max_num_tokens = 64;
    state.num_window_blocks = state.num_free_window_blocks = num_window_blocks;
  }

  // With what is within the window.
  void run_on(std::uint64_t id, std::int64_t num_tokens, std::int64_t num_computed) {
    SeqSnapshot& seq = run(id, num_tokens, num_computed);
    seq.num_window_blocks = seq.num_blocks - first_window_block(num_computed, 8, 4);
    seq.num_reclaimable_window_blocks = seq.num_window_blocks;
    state.num_free_window_blocks -= seq.num_window_blocks;
  }
};

TEST(PlannerWindow, a_sequence_takes_a_block_of_each_pool) {
  WindowScene scene(4);
  scene.run_on(1, 9, 8);
  scene.run_on(2, 9, 8);  // all four are held, and both need one more
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.preempts, std::vector<SeqId>{SeqId{2}});
  EXPECT_EQ(plan.picks, (std::vector<Pick>{{SeqId{1}, 1}}));
  EXPECT_EQ(plan.num_new_blocks, 1);
}

TEST(PlannerWindow, evictable_window_blocks_count_as_free) {
  WindowScene scene(6);
  scene.run_on(1, 9, 8);
  scene.run_on(2, 9, 8);
  scene.state.num_free_window_blocks = 0;
  scene.state.num_evictable_window_blocks = 2;
  EXPECT_TRUE(scene.plan().preempts.empty());
  EXPECT_EQ(scene.replan().num_new_blocks, 2);
}

TEST(PlannerWindow, those_who_begin_must_find_a_window_each_beside_a_steps_chunks) {
  WindowScene scene(32);  // a quarter is for chunks
  for (std::uint64_t id = 1; id <= 10; ++id) {
    scene.wait(id, 2);
  }
  EXPECT_EQ(scene.plan(30).admits.size(), 6U);  // 6 times 4
  EXPECT_EQ(scene.plan(4).admits.size(), 10U);  // 2 blocks each
}

TEST(PlannerWindow, a_cached_prefix_pins_its_window_only) {
  WindowScene scene(8);
  SeqSnapshot& seq = scene.wait(1, 44, 40);
  seq.num_pinned_blocks = 10;
  seq.num_pinned_window_blocks = 2;
  scene.state.num_free_window_blocks = 2;
  scene.state.num_evictable_window_blocks = 6;
  const Plan& plan = scene.plan();
  EXPECT_EQ(plan.admits, std::vector<SeqId>{SeqId{1}});
  EXPECT_EQ(plan.num_new_blocks, 1);
}

TEST(PlannerWindow, chunks_are_cut_to_the_window_blocks_that_are_there) {
  WindowScene scene(5);
  scene.wait(1, 40);
  EXPECT_EQ(scene.plan().picks, (std::vector<Pick>{{SeqId{1}, 4}}));  // a quarter of the pool
  scene.waiting.clear();
  scene.run_on(1, 40, 12);
  EXPECT_EQ(scene.plan().picks, (std::vector<Pick>{{SeqId{1}, 12}}));  // three are left
}

TEST(PlannerWindow, a_plan_that_takes_too_many_of_one_kind_is_not_valid) {
  WindowScene scene(5);
  scene.run_on(1, 40, 12);
  scene.state.running = scene.running;
  Plan plan;
  plan.picks = {{SeqId{1}, 12}};
  plan.num_new_blocks = 3;
  EXPECT_EQ(validate(plan, scene.state, scene.limits).message(), "");
  plan.picks = {{SeqId{1}, 13}};
  plan.num_new_blocks = 4;
  EXPECT_NE(validate(plan, scene.state, scene.limits).message().find("of windows 3"),
            std::string::npos);
}

}  // namespace
}  // namespace plumb
