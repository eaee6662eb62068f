// SPDX-License-Identifier: Apache-2.0
// Steps that are launched while the one before is under way. Without a thread the later one is
// computed as late as it can be: after all that its engine did meanwhile.
#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;
using Tokens = std::vector<TokenId>;

// Rounds of the engine's thread until there is no work; returns how many had any.
int run_overlapped(EngineScene& scene) {
  int rounds = 0;
  while (rounds < 10'000 && scene.engine->overlapped_step()) {
    EXPECT_EQ(scene.engine->check_invariants().message(), "");
    ++rounds;
  }
  EXPECT_EQ(scene.engine->num_under_way(), 0);
  return rounds;
}

// Prompts that begin with `first` end with token 0 after `length` tokens, others never.
ScriptedModel::Options ending_after(TokenId first, std::size_t length) {
  ScriptedModel::Options model;
  model.script = [first, length](std::span<const TokenId> context, std::span<float> logits) {
    ScriptedModel::hash_logits(context, logits);
    logits[0] = context[0] == first && context.size() == length ? 100.0F : -1.0F;
  };
  return model;
}

Request with_end(Tokens prompt, std::int64_t max_tokens) {
  Request request = EngineScene::greedy(std::move(prompt), max_tokens);
  request.sampling.ignore_eos = false;
  return request;
}

TEST(EngineOverlap, an_answer_goes_on_while_its_last_token_is_on_its_way) {
  EngineScene scene;
  RecordingSink sink;
  scene.submit(EngineScene::greedy({1, 2, 3}, 10), sink);
  EXPECT_EQ(run_overlapped(scene), 10);
  EXPECT_EQ(sink.tokens, EngineScene::truth({1, 2, 3}, 10));
  EXPECT_EQ(sink.num_events, 10);
  const EngineStats stats = scene.engine->stats();
  EXPECT_EQ(stats.num_steps, 10);       // none behind the end, which is known by its length
  EXPECT_EQ(stats.num_ahead_steps, 8);  // but the prompt's, and the one after it
  scene.expect_idle_and_whole();
}

TEST(EngineOverlap, samples_and_their_probabilities_are_the_same) {
  const auto answers = [](bool overlaps) {
    EngineScene scene;
    std::vector<RecordingSink> sinks(3);
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      Request request = EngineScene::greedy({1, 2}, 20);
      request.sampling.temperature = i == 0 ? 0.0 : 1.0;
      request.sampling.seed = 5 + i;
      request.sampling.min_tokens = static_cast<std::int64_t>(7 * i);
      request.sampling.ignore_eos = false;
      request.sampling.stop_token_ids = {3, 9, 14, 21, 33, 41};
      request.sampling.logprobs = i == 2;
      scene.submit(std::move(request), sinks[i]);
    }
    overlaps ? run_overlapped(scene) : scene.run();
    std::vector<std::pair<TokenId, float>> said;
    for (const RecordingSink& sink : sinks) {
      for (const EmittedToken& token : sink.emitted) {
        said.emplace_back(token.token, token.logprob);
      }
    }
    return std::pair(said, scene.engine->stats().num_ahead_steps > 5);
  };
  const auto [alone, none_ahead] = answers(false);
  const auto [ahead, many_ahead] = answers(true);
  EXPECT_FALSE(none_ahead);
  EXPECT_TRUE(many_ahead);
  EXPECT_EQ(alone, ahead);
}

TEST(EngineOverlap, one_token_behind_the_end_is_computed_and_dropped) {
  EngineScene scene(EngineScene::small_options(), ending_after(1, 5));
  RecordingSink sink;
  scene.submit(with_end({1, 2, 3}, 20), sink);
  while (!sink.has_ended()) {
    ASSERT_TRUE(scene.engine->overlapped_step());
  }
  EXPECT_EQ(sink.finish, FinishReason::kEos);
  EXPECT_EQ(sink.tokens.size(), 3U);
  EXPECT_EQ(sink.last.usage.completion_tokens, 3);
  // What the step under way still uses is kept.
  EXPECT_EQ(scene.engine->num_under_way(), 1);
  EXPECT_EQ(scene.engine->stats().num_running, 0);
  EXPECT_EQ(scene.engine->stats().num_used_blocks(), 2);
  EXPECT_EQ(scene.engine->check_invariants().message(), "");
  EXPECT_EQ(scene.engine->flush_cache().code(), Code::kUnavailable);
  EXPECT_TRUE(scene.engine->overlapped_step());
  EXPECT_EQ(sink.num_events, 3);
  EXPECT_EQ(scene.engine->stats().num_steps, 4);
  EXPECT_EQ(scene.engine->stats().completion_tokens, 3);
  EXPECT_EQ(scene.engine->stats().num_cached_blocks, 1);  // five tokens were computed in time
  scene.expect_idle_and_whole();
  EXPECT_TRUE(scene.engine->flush_cache().ok());
}

TEST(EngineOverlap, a_block_is_not_used_again_while_a_step_under_way_has_it) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 5 * EngineScene::kBlockBytes;
  options.prefix_cache = false;
  options.kv_conservativeness = 0;
  options.scheduler.kv_admission = AdmissionKind::kRatio;
  EngineScene scene(options, ending_after(1, 7));
  RecordingSink ending;
  RecordingSink other;
  scene.submit(with_end({1, 2, 3}, 8), ending);
  scene.submit(with_end({2, 3, 4, 5, 6, 7, 8}, 8), other);
  for (int round = 0; round < 5; ++round) {
    scene.engine->overlapped_step();
  }
  EXPECT_EQ(ending.finish, FinishReason::kEos);
  EXPECT_EQ(scene.engine->num_under_way(), 1);  // with a row of the one that has ended
  EXPECT_EQ(scene.engine->stats().num_free_blocks, 0);
  // The other one's next token takes a block: it waits until the step with that row is taken.
  scene.engine->overlapped_step();
  EXPECT_EQ(scene.engine->num_under_way(), 0);
  EXPECT_EQ(scene.engine->stats().num_free_blocks, 2);
  scene.engine->overlapped_step();
  EXPECT_EQ(scene.engine->stats().num_free_blocks, 1);
  run_overlapped(scene);
  EXPECT_EQ(scene.engine->stats().num_preemptions, 0);
  EXPECT_EQ(other.finish, FinishReason::kLength);
  EngineScene alone(EngineScene::small_options(), ending_after(1, 7));
  RecordingSink truth;
  alone.submit(with_end({2, 3, 4, 5, 6, 7, 8}, 8), truth);
  alone.run();
  EXPECT_EQ(other.tokens, truth.tokens);
}

TEST(EngineOverlap, a_lost_device_ends_everything_once_with_a_step_under_way) {
  for (const int num_rounds : {2, 3}) {
    EngineScene scene;
    std::vector<RecordingSink> sinks(3);
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      scene.submit(EngineScene::greedy({static_cast<TokenId>(i + 1)}, 30), sinks[i]);
    }
    for (int round = 0; round < num_rounds; ++round) {
      scene.engine->overlapped_step();
    }
    ASSERT_EQ(scene.engine->num_under_way(), 1);
    RecordingSink mailed;
    scene.submit(EngineScene::greedy({9}, 5), mailed);
    scene.backend.device_is_lost = true;
    scene.engine->overlapped_step();
    for (const RecordingSink* sink : {&sinks[0], &sinks[1], &sinks[2], &mailed}) {
      EXPECT_EQ(sink->last.status, Code::kDeviceLost);  // once: the sink checks it
    }
    EXPECT_EQ(sinks[0].tokens, EngineScene::truth({1}, num_rounds));
    EXPECT_EQ(scene.engine->num_under_way(), 0);
    EXPECT_EQ(scene.engine->stats().state, EngineState::kFailed);
    EXPECT_FALSE(scene.engine->overlapped_step());
    scene.expect_idle_and_whole();
  }
}

TEST(EngineOverlap, a_sequence_may_be_aborted_while_steps_with_it_are_under_way) {
  EngineScene scene;
  RecordingSink aborted;
  RecordingSink other;
  const SeqId id = scene.submit(EngineScene::greedy({1, 2}, 50), aborted);
  scene.submit(EngineScene::greedy({3, 4}, 12), other);
  for (int round = 0; round < 4; ++round) {
    scene.engine->overlapped_step();
  }
  ASSERT_EQ(scene.engine->num_under_way(), 1);
  scene.engine->abort(id, {Code::kUnavailable, "gone"});
  scene.engine->abort(id);
  scene.engine->overlapped_step();
  EXPECT_EQ(aborted.last.status_message, "gone");
  EXPECT_EQ(aborted.tokens, EngineScene::truth({1, 2}, 4));
  EXPECT_EQ(aborted.last.usage.completion_tokens, 4);
  EXPECT_EQ(scene.engine->check_invariants().message(), "");
  run_overlapped(scene);
  EXPECT_EQ(other.tokens, EngineScene::truth({3, 4}, 12));
  EXPECT_EQ(scene.engine->stats().num_aborted, 1);
  scene.expect_idle_and_whole();
}

TEST(EngineOverlap, stopping_ends_what_is_under_way_once) {
  EngineScene scene;
  RecordingSink sink;
  scene.submit(EngineScene::greedy({1}, 30), sink);
  for (int round = 0; round < 3; ++round) {
    scene.engine->overlapped_step();
  }
  ASSERT_EQ(scene.engine->num_under_way(), 1);
  scene.engine->stop();
  EXPECT_EQ(sink.last.status, Code::kUnavailable);
  EXPECT_EQ(scene.engine->num_under_way(), 0);
  scene.expect_idle_and_whole();
}

TEST(EngineOverlap, an_engine_may_be_destroyed_with_a_step_under_way) {
  RecordingSink sink;
  {
    EngineScene scene;
    scene.submit(EngineScene::greedy({1}, 30), sink);
    scene.engine->overlapped_step();
    scene.engine->overlapped_step();
    ASSERT_EQ(scene.engine->num_under_way(), 1);
  }
  EXPECT_EQ(sink.last.status, Code::kUnavailable);
}

TEST(EngineOverlap, deadlines_end_a_sequence_that_is_under_way) {
  EngineScene scene;
  RecordingSink sink;
  Request request = EngineScene::greedy({1}, 30);
  request.timeout = 1s;
  scene.submit(request, sink);
  for (int round = 0; round < 3; ++round) {
    scene.engine->overlapped_step();
  }
  scene.clock.advance(1s);
  run_overlapped(scene);
  EXPECT_EQ(sink.last.status, Code::kDeadlineExceeded);
  EXPECT_EQ(sink.tokens, EngineScene::truth({1}, 4));  // the step under way was computed
  scene.expect_idle_and_whole();
}

// Rounds from the submission of a short request to its first token.
int rounds_to_first_token(EngineScene& scene, bool overlaps) {
  RecordingSink sink;
  const SeqId id = scene.submit(EngineScene::greedy({7, 7}, 1), sink);
  int rounds = 0;
  while (!sink.has_ended() && rounds < 100) {
    overlaps ? scene.engine->overlapped_step() : scene.engine->step();
    ++rounds;
  }
  scene.engine->abort(id);
  return rounds;
}

TEST(EngineOverlap, nothing_is_planned_ahead_of_a_prompt_so_that_who_comes_meanwhile_is_next) {
  for (const bool overlaps : {false, true}) {
    EngineScene scene;
    RecordingSink answer;
    RecordingSink prompt;
    scene.submit(EngineScene::greedy({1, 2, 3}, 60), answer);
    scene.engine->overlapped_step();
    EXPECT_EQ(scene.engine->num_under_way(), 0);
    scene.submit(EngineScene::greedy(counting(7, 100), 2), prompt);
    for (int round = 0; round < 3; ++round) {
      scene.engine->overlapped_step();
      EXPECT_EQ(scene.engine->num_under_way(), 0);  // chunks of the prompt beside the answer
    }
    EXPECT_EQ(rounds_to_first_token(scene, overlaps), 1);
    run_overlapped(scene);
    EXPECT_EQ(prompt.tokens, EngineScene::truth(counting(7, 100), 2));
  }
}

TEST(EngineOverlap, who_comes_during_an_answer_waits_for_one_short_step_more_at_most) {
  for (const bool overlaps : {false, true}) {
    EngineScene scene;
    RecordingSink answer;
    scene.submit(EngineScene::greedy({1, 2, 3}, 60), answer);
    for (int round = 0; round < 5; ++round) {
      overlaps ? scene.engine->overlapped_step() : scene.engine->step();
    }
    EXPECT_EQ(rounds_to_first_token(scene, overlaps), overlaps ? 2 : 1);
    run_overlapped(scene);
    EXPECT_EQ(answer.tokens, EngineScene::truth({1, 2, 3}, 60));
  }
}

TEST(EngineOverlap, long_steps_are_not_launched_ahead) {
  for (const bool is_ahead : {true, false}) {
    const auto row_time = is_ahead ? 40ms : 60ms;
    EngineScene* scene_of_script = nullptr;
    ScriptedModel::Options model;
    model.script = [&](std::span<const TokenId> context, std::span<float> logits) {
      ScriptedModel::hash_logits(context, logits);
      scene_of_script->clock.advance(row_time);
    };
    EngineScene scene(EngineScene::small_options(), model);
    scene_of_script = &scene;
    RecordingSink answer;
    scene.submit(EngineScene::greedy({1, 2, 3}, 40), answer);
    for (int round = 0; round < 10; ++round) {
      scene.engine->overlapped_step();
    }
    EXPECT_EQ(scene.engine->num_under_way(), is_ahead ? 1 : 0);
    EXPECT_EQ(rounds_to_first_token(scene, true), is_ahead ? 2 : 1);
    run_overlapped(scene);
    EXPECT_EQ(answer.tokens, EngineScene::truth({1, 2, 3}, 40));
  }
}

TEST(EngineOverlap, who_comes_during_a_step_finds_the_free_rows_free) {
  EngineScene* scene_of_script = nullptr;
  ScriptedModel::Options model;
  model.script = [&](std::span<const TokenId> context, std::span<float> logits) {
    ScriptedModel::hash_logits(context, logits);
    scene_of_script->clock.advance(10ms);
  };
  EngineScene scene(EngineScene::small_options(), model);
  scene_of_script = &scene;
  std::vector<RecordingSink> sinks(2);
  scene.submit(EngineScene::greedy({1, 2, 3}, 40), sinks[0]);
  for (int round = 0; round < 5; ++round) {
    scene.engine->overlapped_step();
  }
  ASSERT_EQ(scene.engine->num_under_way(), 1);
  scene.submit(EngineScene::greedy({7, 7}, 5), sinks[1]);
  scene.engine->overlapped_step();  // takes the step that was planned before it came
  EXPECT_EQ(sinks[1].num_events, 0);
  EXPECT_EQ(scene.engine->stats().predicted_ttft.value_or(0ms), 0ms);
  run_overlapped(scene);
}

TEST(EngineOverlap, who_is_ended_hears_of_it_before_the_next_step_is_computed) {
  for (const bool is_late : {false, true}) {
    RecordingSink ended;
    RecordingSink next;
    int num_computed = 0;
    bool had_ended = true;
    ScriptedModel::Options model;
    model.script = [&](std::span<const TokenId> context, std::span<float> logits) {
      ScriptedModel::hash_logits(context, logits);
      if (context[0] == 7) {
        ++num_computed;
        had_ended = had_ended && ended.has_ended();
      }
    };
    EngineScene scene(EngineScene::small_options(), model);
    Request request = EngineScene::greedy({1, 2, 3}, 40);
    request.timeout = 1s;
    const SeqId id = scene.submit(request, ended);
    for (int round = 0; round < 5; ++round) {
      scene.engine->overlapped_step();
    }
    if (is_late) {
      scene.clock.advance(1s);
    } else {
      scene.engine->abort(id);
    }
    scene.submit(EngineScene::greedy({7, 7}, 3), next);
    run_overlapped(scene);
    EXPECT_EQ(ended.last.status, is_late ? Code::kDeadlineExceeded : Code::kCancelled);
    EXPECT_EQ(num_computed, 3);
    EXPECT_TRUE(had_ended);
    scene.expect_idle_and_whole();
  }
}

TEST(EngineOverlap, what_needs_its_last_token_for_the_next_one_is_not_launched_ahead) {
  EngineScene scene;
  RecordingSink plain;
  RecordingSink penalized;
  scene.submit(EngineScene::greedy({1, 2, 3}, 30), plain);
  Request request = EngineScene::greedy({1, 2, 4}, 12);
  request.sampling.repetition_penalty = 1.5;
  scene.submit(request, penalized);
  while (!penalized.has_ended()) {
    scene.engine->overlapped_step();
  }
  EXPECT_EQ(scene.engine->stats().num_ahead_steps, 0);
  EXPECT_EQ(scene.engine->num_under_way(), 1);  // its end is known by its length
  run_overlapped(scene);
  EXPECT_EQ(scene.engine->stats().num_ahead_steps, 18);
  EXPECT_EQ(plain.tokens, EngineScene::truth({1, 2, 3}, 30));
  EngineScene alone;
  RecordingSink truth;
  alone.submit(request, truth);
  alone.run();
  EXPECT_EQ(penalized.tokens, truth.tokens);
}

// Every third round a more important request takes the row of one that runs.
TEST(EngineOverlap, answers_survive_a_preemption_every_three_steps) {
  EngineOptions options = EngineScene::small_options();
  options.max_num_seqs = 3;
  options.scheduler.schedule_policy = ScheduleOrder::kPriority;
  options.scheduler.priority_preemption_threshold = 0;
  options.max_queued_requests = 100;
  for (const bool has_prefix_cache : {true, false}) {
    options.prefix_cache = has_prefix_cache;
    EngineScene scene(options);
    std::vector<RecordingSink> answers(4);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      scene.submit(EngineScene::greedy(prompt_of(static_cast<TokenId>(i), 5), 70), answers[i]);
    }
    std::vector<RecordingSink> important(25);
    for (std::size_t i = 0; i < important.size(); ++i) {
      Request request = EngineScene::greedy(prompt_of(static_cast<TokenId>(i + 9), 6), 1);
      request.priority = 5;
      scene.submit(request, important[i]);
      for (int round = 0; round < 3; ++round) {
        scene.engine->overlapped_step();
        ASSERT_EQ(scene.engine->check_invariants().message(), "");
      }
    }
    run_overlapped(scene);
    const EngineStats stats = scene.engine->stats();
    EXPECT_GE(stats.num_displaced, 20);
    EXPECT_GE(stats.num_ahead_steps, 30);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const Tokens prompt = prompt_of(static_cast<TokenId>(i), 5);
      EXPECT_EQ(answers[i].tokens, EngineScene::truth(prompt, 70));
    }
    for (std::size_t i = 0; i < important.size(); ++i) {
      const Tokens prompt = prompt_of(static_cast<TokenId>(i + 9), 6);
      EXPECT_EQ(important[i].tokens, EngineScene::truth(prompt, 1));
    }
    scene.expect_idle_and_whole();
  }
}

TEST(EngineOverlap, the_figures_of_a_step_are_told_when_it_is_taken) {
  EngineScene scene;
  RecordingSink sink;
  scene.submit(EngineScene::greedy({1, 2, 3}, 10), sink);
  for (int round = 0; round < 3; ++round) {
    scene.engine->overlapped_step();
  }
  const EngineStats stats = scene.engine->stats();
  EXPECT_EQ(stats.num_steps, 3);
  EXPECT_EQ(stats.completion_tokens, 3);
  EXPECT_EQ(stats.num_running, 1);
  EXPECT_EQ(stats.num_ahead_steps, 1);  // the last of them
  // A step under way may be taken by the one that runs step by step.
  EXPECT_TRUE(scene.engine->step());
  EXPECT_EQ(scene.engine->num_under_way(), 0);
  EXPECT_EQ(scene.engine->stats().num_steps, 4);
  scene.run();
  EXPECT_EQ(sink.tokens, EngineScene::truth({1, 2, 3}, 10));
}

}  // namespace
}  // namespace plumb
