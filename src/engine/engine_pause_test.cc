// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

class EnginePause : public testing::TestWithParam<PauseMode> {
 protected:
  // Steps until so many tokens have come.
  void run_to(const RecordingSink& sink, std::size_t num_tokens) {
    for (int i = 0; i < 100 && sink.tokens.size() < num_tokens; ++i) {
      scene_.engine->overlapped_step();
    }
    ASSERT_GE(sink.tokens.size(), num_tokens);
  }

  void rest() {
    for (int i = 0; i < 100 && !scene_.engine->stats().is_paused; ++i) {
      scene_.engine->overlapped_step();
    }
    ASSERT_TRUE(scene_.engine->stats().is_paused);
  }

  EngineScene scene_;
};

TEST_P(EnginePause, answers_are_the_same_as_without_it) {
  RecordingSink first;
  RecordingSink second;
  scene_.submit(EngineScene::greedy(prompt_of(1, 9), 12), first);
  scene_.submit(EngineScene::greedy(prompt_of(2, 6), 12), second);
  run_to(second, 3);
  scene_.engine->pause(GetParam());
  EXPECT_FALSE(scene_.engine->stats().is_paused);
  rest();
  EXPECT_EQ(scene_.engine->num_under_way(), 0);
  const std::size_t so_far = first.tokens.size();
  EXPECT_FALSE(scene_.engine->overlapped_step());
  EXPECT_EQ(first.tokens.size(), so_far);
  const EngineStats paused = scene_.engine->stats();
  const bool is_retracted = GetParam() == PauseMode::kRetract;
  EXPECT_EQ(paused.num_running, is_retracted ? 0 : 2);
  EXPECT_EQ(paused.num_waiting, is_retracted ? 2 : 0);
  EXPECT_EQ(paused.num_used_blocks() == 0, is_retracted);
  EXPECT_EQ(paused.num_preemptions, is_retracted ? 2 : 0);
  EXPECT_EQ(scene_.engine->check_invariants().message(), "");
  scene_.engine->resume();
  EXPECT_FALSE(scene_.engine->stats().is_paused);
  scene_.run();
  EXPECT_EQ(first.tokens, EngineScene::truth(prompt_of(1, 9), 12));
  EXPECT_EQ(second.tokens, EngineScene::truth(prompt_of(2, 6), 12));
  scene_.expect_idle_and_whole();
}

TEST_P(EnginePause, what_comes_meanwhile_waits_and_can_be_aborted) {
  scene_.engine->pause(GetParam());
  rest();
  RecordingSink kept;
  RecordingSink aborted;
  scene_.submit(EngineScene::greedy(prompt_of(1, 5), 3), kept);
  const SeqId id = scene_.submit(EngineScene::greedy(prompt_of(2, 5), 3), aborted);
  scene_.engine->overlapped_step();
  EXPECT_EQ(scene_.engine->stats().num_waiting, 2);
  scene_.engine->abort(id);
  scene_.engine->overlapped_step();
  EXPECT_EQ(aborted.finish, FinishReason::kAbort);
  EXPECT_EQ(scene_.engine->stats().num_waiting, 1);
  EXPECT_TRUE(kept.tokens.empty());
  scene_.engine->resume();
  scene_.run();
  EXPECT_EQ(kept.tokens, EngineScene::truth(prompt_of(1, 5), 3));
  scene_.expect_idle_and_whole();
}

TEST_P(EnginePause, a_closed_engine_is_paused_at_once_and_stays_so_when_it_is_opened) {
  ASSERT_TRUE(scene_.engine->close("memory").ok());
  scene_.engine->pause(GetParam());
  EXPECT_TRUE(scene_.engine->stats().is_paused);
  scene_.engine->open();
  rest();
  RecordingSink sink;
  scene_.submit(EngineScene::greedy(prompt_of(1, 5), 3), sink);
  scene_.engine->overlapped_step();
  EXPECT_TRUE(sink.tokens.empty());
  scene_.engine->resume();
  scene_.run();
  EXPECT_EQ(sink.tokens, EngineScene::truth(prompt_of(1, 5), 3));
}

// The thread sleeps while it rests, and hears of what ends the pause.
TEST_P(EnginePause, the_thread_goes_on_or_stops) {
  RecordingSink sink;
  scene_.engine->start();
  scene_.engine->pause(GetParam());
  scene_.submit(EngineScene::greedy(prompt_of(1, 5), 3), sink);
  scene_.engine->resume();
  EXPECT_TRUE(scene_.engine->wait_until_idle(system_clock().now() + std::chrono::seconds(20)));
  EXPECT_EQ(sink.tokens, EngineScene::truth(prompt_of(1, 5), 3));
  RecordingSink ended;
  scene_.engine->pause(GetParam());
  scene_.submit(EngineScene::greedy(prompt_of(1, 5), 3), ended);
  scene_.engine->stop();
  EXPECT_EQ(ended.finish, FinishReason::kAbort);
}

INSTANTIATE_TEST_SUITE_P(Modes, EnginePause,
                         testing::Values(PauseMode::kInPlace, PauseMode::kRetract));

}  // namespace
}  // namespace plumb
