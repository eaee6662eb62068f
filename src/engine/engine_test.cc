// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <cmath>
#include <limits>

#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;
using Tokens = std::vector<TokenId>;

TEST(Engine, answers_one_request_with_what_the_model_says) {
  EngineScene scene;
  RecordingSink sink;
  scene.submit(EngineScene::greedy({1, 2, 3}, 10), sink);
  EXPECT_EQ(scene.run(), 10);
  EXPECT_EQ(sink.tokens, EngineScene::truth({1, 2, 3}, 10));
  EXPECT_EQ(sink.finish, FinishReason::kLength);
  EXPECT_EQ(sink.num_events, 10);  // one a step, the last with the reason
  EXPECT_EQ(sink.last.usage.prompt_tokens, 3);
  EXPECT_EQ(sink.last.usage.completion_tokens, 10);
  scene.expect_idle_and_whole();
}

TEST(Engine, a_long_prompt_is_computed_in_chunks_with_the_same_answer) {
  EngineScene scene;
  RecordingSink sink;
  const Tokens prompt = counting(3, 100);
  scene.submit(EngineScene::greedy(prompt, 5), sink);
  scene.run();
  EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 5));
  EXPECT_EQ(scene.engine->stats().num_chunked_prompts, 1);
}

TEST(Engine, a_prompt_chunk_and_decode_rows_share_a_step) {
  EngineScene scene;
  RecordingSink first;
  RecordingSink second;
  scene.submit(EngineScene::greedy({1, 2, 3}, 20), first);
  scene.engine->step();
  scene.submit(EngineScene::greedy(counting(7, 60), 5), second);
  scene.run();
  EXPECT_EQ(first.tokens, EngineScene::truth({1, 2, 3}, 20));
  EXPECT_EQ(second.tokens, EngineScene::truth(counting(7, 60), 5));
  EXPECT_GE(scene.engine->stats().num_mixed_steps, 4);
}

TEST(Engine, a_cached_prefix_is_reused_and_counted) {
  EngineScene scene;
  const Tokens prompt = counting(9, 42);
  RecordingSink cold;
  scene.submit(EngineScene::greedy(prompt, 6), cold);
  scene.run();
  EXPECT_EQ(cold.last.usage.cached_tokens, 0);
  RecordingSink warm;
  scene.submit(EngineScene::greedy(prompt, 6), warm);
  scene.run();
  EXPECT_EQ(warm.tokens, cold.tokens);
  EXPECT_EQ(warm.last.usage.cached_tokens, 41);  // ten blocks and a token of the next one
  // The answer is cached too: a conversation goes on from it.
  Tokens longer = prompt;
  longer.insert(longer.end(), cold.tokens.begin(), cold.tokens.end());
  longer.push_back(5);
  RecordingSink next;
  scene.submit(EngineScene::greedy(longer, 3), next);
  scene.run();
  EXPECT_EQ(next.tokens, EngineScene::truth(longer, 3));
  EXPECT_EQ(next.last.usage.cached_tokens, 44);
  EXPECT_EQ(scene.engine->stats().num_prefix_hits, 2);
}

TEST(Engine, samples_of_one_prompt_compute_it_once) {
  EngineScene scene;
  const Tokens prompt = counting(3, 42);
  std::vector<RecordingSink> sinks(4);
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    Request request = EngineScene::greedy(prompt, 6);
    request.sampling.temperature = 1;
    request.sampling.seed = i;
    scene.submit(std::move(request), sinks[i]);
  }
  scene.run();
  EXPECT_EQ(scene.engine->stats().prefill_tokens, 42 + 3 * 1);
  EXPECT_EQ(scene.engine->stats().num_tail_copies, 3);
  for (std::size_t i = 1; i < sinks.size(); ++i) {
    EXPECT_EQ(sinks[i].last.usage.cached_tokens, 41);
  }
}

TEST(Engine, a_prompt_that_is_cached_whole_still_computes_its_last_token) {
  EngineScene scene;
  const Tokens prompt = counting(1, 16);
  for (int i = 0; i < 2; ++i) {
    RecordingSink sink;
    scene.submit(EngineScene::greedy(prompt, 2), sink);
    scene.run();
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 2));
    EXPECT_EQ(sink.last.usage.cached_tokens, i == 0 ? 0 : 15);
  }
}

TEST(Engine, namespaces_and_the_switch_keep_prefixes_apart) {
  EngineOptions options = EngineScene::small_options();
  for (const bool on : {true, false}) {
    options.prefix_cache = on;
    EngineScene scene(options);
    const Tokens prompt = counting(1, 20);
    for (const char* ns : {"a", "b", "b"}) {
      RecordingSink sink;
      Request request = EngineScene::greedy(prompt, 2);
      request.cache_namespace = ns;
      scene.submit(std::move(request), sink);
      scene.run();
      EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 2));
    }
    EXPECT_EQ(scene.engine->stats().num_prefix_hits, on ? 1 : 0);
    scene.expect_idle_and_whole();
  }
}

TEST(Engine, an_end_token_ends_the_answer_unless_it_is_ignored_or_too_early) {
  ScriptedModel::Options model;
  model.script = [](std::span<const TokenId> context, std::span<float> logits) {
    std::fill(logits.begin(), logits.end(), 0.0F);
    logits[context.size() == 5 ? 0 : 7] = 2.0F;  // the end token as the third token
    logits[9] = 1.0F;
  };
  EngineScene scene(EngineScene::small_options(), model);
  RecordingSink plain;
  Request request = EngineScene::greedy({1, 2, 3}, 6);
  request.sampling.ignore_eos = false;
  scene.submit(request, plain);
  RecordingSink ignoring;
  request.sampling.ignore_eos = true;
  scene.submit(request, ignoring);
  RecordingSink late;
  request.sampling.ignore_eos = false;
  request.sampling.min_tokens = 4;
  scene.submit(request, late);
  scene.run();
  EXPECT_EQ(plain.tokens, (Tokens{7, 7, 0}));
  EXPECT_EQ(plain.finish, FinishReason::kEos);
  EXPECT_EQ(ignoring.tokens, (Tokens{7, 7, 0, 7, 7, 7}));
  EXPECT_EQ(ignoring.finish, FinishReason::kLength);
  EXPECT_EQ(late.tokens, (Tokens{7, 7, 9, 7, 7, 7}));
}

TEST(Engine, a_stop_token_of_the_request_ends_it_and_is_named) {
  EngineScene scene;
  const Tokens truth = EngineScene::truth({4, 5}, 8);
  Request request = EngineScene::greedy({4, 5}, 8);
  request.sampling.stop_token_ids = {truth[3]};
  RecordingSink sink;
  scene.submit(std::move(request), sink);
  scene.run();
  EXPECT_EQ(sink.finish, FinishReason::kStop);
  EXPECT_EQ(sink.last.matched_token, truth[3]);
  const auto first = std::find(truth.begin(), truth.end(), truth[3]);
  EXPECT_EQ(sink.tokens, Tokens(truth.begin(), first + 1));
}

TEST(Engine, max_tokens_zero_means_as_many_as_context_and_cache_hold) {
  EngineOptions options = EngineScene::small_options();
  options.max_context = 40;
  EngineScene scene(options);
  RecordingSink sink;
  scene.submit(EngineScene::greedy(counting(1, 30), 0), sink);
  scene.run();
  EXPECT_EQ(sink.tokens.size(), 10U);
  EXPECT_EQ(sink.finish, FinishReason::kLength);
}

TEST(Engine, preempted_sequences_resume_and_say_the_same) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 12 * EngineScene::kBlockBytes;  // 48 tokens
  options.kv_conservativeness = 0.0;
  EngineScene scene(options);
  std::vector<RecordingSink> sinks(4);
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    scene.submit(EngineScene::greedy(counting(static_cast<TokenId>(i * 11), 6), 30), sinks[i]);
  }
  scene.run();
  std::int64_t num_preemptions = 0;
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    EXPECT_EQ(sinks[i].tokens, EngineScene::truth(counting(static_cast<TokenId>(i * 11), 6), 30));
    num_preemptions += sinks[i].last.timings.num_preemptions;
  }
  EXPECT_GT(num_preemptions, 0);
  EXPECT_EQ(scene.engine->stats().num_preemptions, num_preemptions);
  EXPECT_GT(scene.engine->stats().num_evicted_blocks, 0);
  scene.expect_idle_and_whole();
}

TEST(Engine, a_sequence_may_be_aborted_in_every_state) {
  EngineOptions options = EngineScene::small_options();
  options.max_num_seqs = 1;
  EngineScene scene(options);
  RecordingSink mailed;
  RecordingSink decoding;
  RecordingSink queued;
  scene.engine->abort(scene.submit(EngineScene::greedy({1}, 5), mailed));  // before any step
  const SeqId running = scene.submit(EngineScene::greedy({1, 2}, 50), decoding);
  const SeqId waiting = scene.submit(EngineScene::greedy({3}, 5), queued);
  for (int i = 0; i < 4; ++i) {
    scene.engine->step();
  }
  EXPECT_EQ(mailed.finish, FinishReason::kAbort);
  EXPECT_EQ(mailed.last.status, Code::kCancelled);
  EXPECT_EQ(queued.num_events, 0);
  scene.engine->abort(waiting);
  scene.engine->abort(running, {Code::kUnavailable, "gone"});
  scene.engine->abort(running);  // twice
  scene.engine->abort(SeqId{999});
  scene.run();
  EXPECT_EQ(queued.finish, FinishReason::kAbort);
  EXPECT_EQ(decoding.last.status, Code::kUnavailable);
  EXPECT_EQ(decoding.last.status_message, "gone");
  EXPECT_EQ(decoding.last.usage.completion_tokens, std::ssize(decoding.tokens));
  const Tokens truth = EngineScene::truth({1, 2}, 4);
  EXPECT_EQ(decoding.tokens, truth);

  RecordingSink prefilling;
  const SeqId long_prompt = scene.submit(EngineScene::greedy(counting(1, 100), 5), prefilling);
  scene.engine->step();
  scene.engine->step();
  scene.engine->abort(long_prompt);
  scene.run();
  EXPECT_EQ(prefilling.finish, FinishReason::kAbort);
  EXPECT_TRUE(prefilling.tokens.empty());
  scene.expect_idle_and_whole();
}

TEST(Engine, deadlines_end_waiting_and_running_sequences) {
  EngineOptions options = EngineScene::small_options();
  options.max_num_seqs = 1;
  EngineScene scene(options);
  RecordingSink running;
  RecordingSink queued;
  Request request = EngineScene::greedy({1, 2}, 50);
  request.timeout = 2s;
  request.queue_timeout = 1s;
  scene.submit(request, running);
  scene.submit(request, queued);
  scene.engine->step();
  scene.clock.advance(1s);
  scene.engine->step();
  EXPECT_EQ(queued.last.status, Code::kDeadlineExceeded);
  EXPECT_FALSE(running.has_ended());  // it was started in time
  scene.clock.advance(1s);
  scene.engine->step();
  EXPECT_EQ(running.last.status, Code::kDeadlineExceeded);
  EXPECT_EQ(running.tokens.size(), 2U);
  scene.expect_idle_and_whole();
}

TEST(Engine, the_general_timeout_applies_where_the_request_names_a_longer_one) {
  EngineOptions options = EngineScene::small_options();
  options.timeout = 1000ms;
  EngineScene scene(options);
  RecordingSink sink;
  Request request = EngineScene::greedy({1}, 50);
  request.timeout = 1h;
  scene.submit(std::move(request), sink);
  scene.engine->step();
  scene.clock.advance(1s);
  scene.run();
  EXPECT_EQ(sink.last.status, Code::kDeadlineExceeded);
}

TEST(Engine, requests_that_cannot_be_served_are_refused_with_the_numbers) {
  EngineScene scene;  // context 256, cache 256 tokens, vocabulary 50
  RecordingSink sink;
  const auto refusal = [&](Request request) {
    return scene.engine->submit(std::move(request), sink).status();
  };
  EXPECT_EQ(refusal(EngineScene::greedy({}, 1)).code(), Code::kInvalidArgument);
  EXPECT_NE(refusal(EngineScene::greedy({50}, 1)).message().find("50"), std::string::npos);
  EXPECT_EQ(refusal(EngineScene::greedy({-1}, 1)).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(EngineScene::greedy(counting(0, 256), 1)).code(), Code::kInvalidArgument);
  EXPECT_NE(refusal(EngineScene::greedy(counting(0, 250), 7)).message().find("at most 6"),
            std::string::npos);
  Request request = EngineScene::greedy({1}, 1);
  request.sampling.top_p = 2;
  EXPECT_EQ(refusal(request).code(), Code::kInvalidArgument);
  EXPECT_FALSE(scene.engine->step());
  EXPECT_EQ(sink.num_events, 0);
}

TEST(Engine, a_request_larger_than_the_cache_is_refused_at_once) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 8 * EngineScene::kBlockBytes;  // 32 tokens
  EngineScene scene(options);
  RecordingSink sink;
  const Status status =
      scene.engine->submit(EngineScene::greedy(counting(0, 20), 13), sink).status();
  EXPECT_NE(status.message().find("KV cache of 32 tokens"), std::string::npos);
  scene.submit(EngineScene::greedy(counting(0, 20), 12), sink);
  scene.run();
  EXPECT_EQ(sink.tokens, EngineScene::truth(counting(0, 20), 12));
}

TEST(Engine, a_full_queue_refuses_and_takes_again_when_it_has_shrunk) {
  EngineOptions options = EngineScene::small_options();
  options.max_num_seqs = 1;
  options.max_queued_requests = 2;
  EngineScene scene(options);
  std::vector<RecordingSink> sinks(4);
  scene.submit(EngineScene::greedy({1}, 3), sinks[0]);  // needs not wait: the row is free
  scene.submit(EngineScene::greedy({2}, 3), sinks[1]);
  scene.submit(EngineScene::greedy({3}, 3), sinks[2]);
  EXPECT_EQ(scene.engine->submit(EngineScene::greedy({4}, 3), sinks[3]).status().code(),
            Code::kResourceExhausted);
  scene.engine->step();  // one of them runs now, and two wait
  EXPECT_FALSE(scene.engine->submit(EngineScene::greedy({4}, 3), sinks[3]).ok());
  scene.run();
  EXPECT_EQ(sinks[2].tokens, EngineScene::truth({3}, 3));
  EXPECT_EQ(sinks[3].num_events, 0);
}

TEST(Engine, queued_prompt_tokens_are_limited_too) {
  EngineOptions options = EngineScene::small_options();
  options.max_queued_tokens = 30;
  EngineScene scene(options);
  std::vector<RecordingSink> sinks(3);
  scene.submit(EngineScene::greedy(counting(0, 100), 3), sinks[0]);  // alone it may be longer
  EXPECT_EQ(scene.engine->submit(EngineScene::greedy({3}, 3), sinks[1]).status().code(),
            Code::kResourceExhausted);
  scene.engine->step();
  scene.submit(EngineScene::greedy(counting(0, 30), 3), sinks[2]);
  scene.run();
  EXPECT_TRUE(sinks[2].has_ended());
}

TEST(Engine, priority_decides_who_starts_first) {
  EngineOptions options = EngineScene::small_options();
  options.max_num_seqs = 1;
  options.scheduler.schedule_policy = ScheduleOrder::kPriority;
  EngineScene scene(options);
  RecordingSink low;
  RecordingSink high;
  Request request = EngineScene::greedy({1}, 3);
  scene.submit(request, low);
  request.priority = 5;
  scene.submit(request, high);
  scene.engine->step();
  EXPECT_EQ(high.num_events, 1);
  EXPECT_EQ(low.num_events, 0);
  scene.run();
}

TEST(Engine, rows_that_are_no_numbers_end_their_request_alone) {
  ScriptedModel::Options model;
  model.script = [](std::span<const TokenId> context, std::span<float> logits) {
    ScriptedModel::hash_logits(context, logits);
    if (context[0] == 13 && context.size() == 4) {
      logits[3] = std::nanf("");
    }
  };
  for (const double temperature : {0.0, 1.0}) {
    EngineScene scene(EngineScene::small_options(), model);
    RecordingSink bad;
    RecordingSink good;
    Request request = EngineScene::greedy({13, 2}, 6);
    request.sampling.temperature = temperature;
    scene.submit(request, bad);
    scene.submit(EngineScene::greedy({12, 2}, 6), good);
    scene.run();
    EXPECT_EQ(bad.finish, FinishReason::kAbort);
    EXPECT_EQ(bad.last.status, Code::kInternal);
    EXPECT_EQ(bad.tokens.size(), 2U);
    EXPECT_EQ(good.tokens, EngineScene::truth({12, 2}, 6));
    scene.expect_idle_and_whole();
  }
}

TEST(Engine, a_lost_device_ends_everything_and_accepts_nothing_more) {
  EngineScene scene;
  RecordingSink running;
  RecordingSink mailed;
  scene.submit(EngineScene::greedy({1}, 30), running);
  scene.engine->step();
  scene.backend.device_is_lost = true;
  scene.engine->step();
  EXPECT_EQ(running.last.status, Code::kDeviceLost);
  EXPECT_EQ(scene.engine->stats().state, EngineState::kFailed);
  EXPECT_EQ(scene.engine->submit(EngineScene::greedy({1}, 1), mailed).status().code(),
            Code::kDeviceLost);
  scene.expect_idle_and_whole();
}

TEST(Engine, draining_finishes_what_it_has_and_refuses_the_rest) {
  EngineScene scene;
  RecordingSink accepted;
  RecordingSink refused;
  scene.submit(EngineScene::greedy({1}, 5), accepted);
  scene.engine->drain();
  EXPECT_EQ(scene.engine->submit(EngineScene::greedy({1}, 5), refused).status().code(),
            Code::kUnavailable);
  scene.run();
  EXPECT_EQ(accepted.finish, FinishReason::kLength);
  EXPECT_EQ(scene.engine->stats().state, EngineState::kDraining);
}

TEST(Engine, stopping_gives_every_sequence_its_last_event) {
  EngineScene scene;
  RecordingSink running;
  RecordingSink mailed;
  scene.submit(EngineScene::greedy({1}, 30), running);
  scene.engine->step();
  scene.submit(EngineScene::greedy({2}, 30), mailed);
  scene.engine->stop();
  EXPECT_EQ(running.last.status, Code::kUnavailable);
  EXPECT_EQ(mailed.last.status, Code::kUnavailable);
  EXPECT_EQ(scene.engine->stats().state, EngineState::kStopped);
  scene.engine->stop();
}

TEST(Engine, log_probabilities_come_with_tokens_and_prompt) {
  EngineScene scene;
  const Tokens prompt = counting(2, 60);  // longer than the logits rows of a step
  const auto expected = [](std::span<const TokenId> context, TokenId token) {
    std::vector<float> logits(50);
    ScriptedModel::hash_logits(context, logits);
    double sum = 0;
    for (const float l : logits) {
      sum += std::exp(static_cast<double>(l));
    }
    return static_cast<double>(logits[static_cast<std::size_t>(token)]) - std::log(sum);
  };
  Request request = EngineScene::greedy(prompt, 4);
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 3;
  request.sampling.prompt_logprobs = true;
  request.sampling.prompt_top_logprobs = 3;
  for (int round = 0; round < 2; ++round) {  // cold, and with the prompt in the cache
    RecordingSink sink;
    scene.submit(request, sink);
    scene.run();
    ASSERT_EQ(sink.prompt_logprobs.size(), prompt.size());
    EXPECT_TRUE(sink.prompt_logprobs[0].top_logprobs.empty());
    for (std::size_t i = 1; i < prompt.size(); ++i) {
      EXPECT_EQ(sink.prompt_logprobs[i].token, prompt[i]);
      EXPECT_EQ(sink.prompt_logprobs[i].top_logprobs.size(), 3U);
      EXPECT_EQ(sink.prompt_logprobs[i].rank == 1,
                sink.prompt_logprobs[i].top_logprobs[0].token == prompt[i]);
      EXPECT_NEAR(sink.prompt_logprobs[i].logprob, expected(std::span(prompt).first(i), prompt[i]),
                  1e-5);
    }
    Tokens context = prompt;
    for (const EmittedToken& token : sink.emitted) {
      EXPECT_NEAR(token.logprob, expected(context, token.token), 1e-5);
      EXPECT_EQ(token.top_logprobs[0].token, token.token);
      context.push_back(token.token);
    }
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 4));
  }
}

TEST(Engine, a_seed_repeats_its_answer_and_another_gives_another) {
  const auto answer = [](std::uint64_t seed) {
    EngineScene scene;
    RecordingSink sink;
    Request request = EngineScene::greedy({1, 2}, 30);
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    scene.submit(std::move(request), sink);
    scene.run();
    return sink.tokens;
  };
  EXPECT_EQ(answer(7), answer(7));
  EXPECT_NE(answer(7), answer(8));
}

TEST(Engine, penalties_see_prompt_and_output) {
  ScriptedModel::Options model;
  model.script = [](std::span<const TokenId>, std::span<float> logits) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] = 10.0F - 0.1F * static_cast<float>(i);
    }
  };
  EngineScene scene(EngineScene::small_options(), model);
  Request request = EngineScene::greedy({2}, 5);
  request.sampling.presence_penalty = 2;
  RecordingSink sink;
  scene.submit(request, sink);
  scene.run();
  EXPECT_EQ(sink.tokens, (Tokens{0, 1, 2, 3, 4}));
  request.sampling.presence_penalty = 0;
  request.sampling.repetition_penalty = 2;
  RecordingSink repeated;
  scene.submit(request, repeated);
  scene.run();
  EXPECT_EQ(repeated.tokens, (Tokens{0, 1, 3, 4, 5}));
}

TEST(Engine, timings_follow_the_clock) {
  EngineScene scene;
  RecordingSink sink;
  const Clock::TimePoint begin = scene.clock.now();
  scene.submit(EngineScene::greedy({1}, 3), sink);
  for (int i = 0; i < 3; ++i) {
    scene.clock.advance(1s);
    scene.engine->step();
  }
  const Timings& timings = sink.last.timings;
  EXPECT_EQ(timings.submitted, begin);
  EXPECT_EQ(timings.scheduled, begin + 1s);
  EXPECT_EQ(timings.first_token, begin + 1s);
  EXPECT_EQ(timings.last_token, begin + 3s);
  EXPECT_EQ(scene.engine->heartbeat().num_beats, 3);
  EXPECT_EQ(scene.engine->heartbeat().last_beat, begin + 3s);
}

}  // namespace
}  // namespace plumb
