// SPDX-License-Identifier: Apache-2.0
// What the timings of a sequence tell of its phases.
#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

std::vector<TokenId> counted_from_one(std::int64_t count) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<TokenId>(1 + i % 49);  // 0 is the end
  }
  return tokens;
}

Request traced(std::int64_t prompt_len, std::int64_t max_tokens) {
  Request request = EngineScene::greedy(counted_from_one(prompt_len), max_tokens);
  request.wants_phases = true;
  return request;
}

// Steps until there is no work; before each step a millisecond passes.
void run_with_time(EngineScene& scene) {
  do {
    scene.clock.advance(1ms);
  } while (scene.engine->step());
}

TEST(EnginePhases, each_chunk_of_a_prompt_is_told_with_its_time) {
  EngineScene scene;  // chunks of 16 tokens
  RecordingSink sink;
  const Clock::TimePoint submitted = scene.clock.now();
  scene.submit(traced(40, 3), sink);
  run_with_time(scene);
  const Timings& timings = sink.last.timings;
  ASSERT_EQ(timings.phases.size(), 3U);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < timings.phases.size(); ++i) {
    const Phase& phase = timings.phases[i];
    EXPECT_EQ(phase.kind, Phase::Kind::kPrefill);
    EXPECT_EQ(phase.begin, submitted + (i + 1) * 1ms);
    EXPECT_EQ(phase.end, phase.begin);  // no time passes within a step
    sum += phase.num_tokens;
  }
  EXPECT_EQ(sum, 40);
  EXPECT_EQ(timings.phases.front().begin, timings.scheduled);
  EXPECT_EQ(timings.phases.back().end, timings.first_token);
}

TEST(EnginePhases, nothing_is_kept_for_a_request_that_does_not_ask) {
  EngineScene scene;
  RecordingSink sink;
  scene.submit(EngineScene::greedy(counted_from_one(40), 3), sink);
  scene.run();
  EXPECT_TRUE(sink.last.timings.phases.empty());
}

TEST(EnginePhases, a_retraction_lasts_until_the_sequence_is_started_again) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 12 * EngineScene::kBlockBytes;  // 48 tokens
  options.kv_conservativeness = 0.0;
  EngineScene scene(options);
  std::vector<RecordingSink> sinks(4);
  for (RecordingSink& sink : sinks) {
    scene.submit(traced(6, 30), sink);
  }
  run_with_time(scene);
  std::int64_t num_retractions = 0;
  for (const RecordingSink& sink : sinks) {
    std::int64_t num_own = 0;
    Clock::TimePoint last = sink.last.timings.submitted;
    for (const Phase& phase : sink.last.timings.phases) {
      EXPECT_LE(last, phase.begin);
      EXPECT_LE(phase.begin, phase.end);
      last = phase.end;
      if (phase.kind == Phase::Kind::kRetracted) {
        ++num_own;
        EXPECT_GE(phase.end - phase.begin, 1ms);
        EXPECT_EQ(phase.num_tokens, 0);
      }
    }
    EXPECT_EQ(num_own, sink.last.timings.num_preemptions);
    num_retractions += num_own;
  }
  EXPECT_GT(num_retractions, 0);
}

TEST(EnginePhases, of_very_many_phases_the_first_are_told) {
  EngineOptions options = EngineScene::small_options();
  options.chunk_tokens = 4;  // a block
  options.merge_tokens = 1;
  options.kv_cache_bytes = 512 * EngineScene::kBlockBytes;
  ScriptedModel::Options model;
  model.max_context_len = 2048;
  EngineScene scene(options, model);
  RecordingSink sink;
  scene.submit(traced(4 * (kMaxPhases + 9), 1), sink);
  run_with_time(scene);
  EXPECT_EQ(std::ssize(sink.last.timings.phases), kMaxPhases);
}

}  // namespace
}  // namespace plumb
