// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "support/fake_clock.h"
#include "support/scripted_model.h"

namespace plumb {

/// Tokens of the scripted model's vocabulary that count up from `begin`.
inline std::vector<TokenId> counting(TokenId begin, std::int64_t count) {
  std::vector<TokenId> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>((begin + i) % 50));
  }
  return tokens;
}

/// A prompt that has little in common with those of other seeds.
inline std::vector<TokenId> prompt_of(TokenId seed, std::int64_t count) {
  std::vector<TokenId> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>((seed * 17 + i * (seed + 3)) % 50));
  }
  return tokens;
}

/// Keeps what the engine said about one sequence and checks that it says it in order.
class RecordingSink final : public EventSink {
 public:
  void on_event(StreamEvent event) override {
    EXPECT_EQ(finish, FinishReason::kNone) << "an event after the last one";
    ++num_events;
    for (const EmittedToken& token : event.tokens) {
      tokens.push_back(token.token);
      emitted.push_back(token);
    }
    if (!event.prompt_logprobs.empty()) {
      EXPECT_TRUE(prompt_logprobs.empty());
      prompt_logprobs = std::move(event.prompt_logprobs);
    }
    finish = event.finish;
    last = std::move(event);
  }

  bool has_ended() const { return finish != FinishReason::kNone; }

  std::vector<TokenId> tokens;
  std::vector<EmittedToken> emitted;
  std::vector<EmittedToken> prompt_logprobs;
  FinishReason finish = FinishReason::kNone;
  StreamEvent last;
  int num_events = 0;
};

/// An engine on a scripted model and a clock that the test moves.
struct EngineScene {
  explicit EngineScene(const EngineOptions& engine_options = small_options(),
                       const ScriptedModel::Options& model_options = {}, FileStore* files = nullptr,
                       const std::string& model_id = "scripted") {
    EngineParts parts;
    parts.model_id = model_id;
    parts.files = files != nullptr ? files : &system_files();
    parts.model = std::make_unique<ScriptedModel>(model_options);
    parts.backend = &backend;
    parts.ops = backend.ops();
    parts.clock = &clock;
    parts.end_tokens = {0};
    Result<std::unique_ptr<Engine>> made = Engine::create(engine_options, std::move(parts));
    EXPECT_TRUE(made.ok()) << made.status().message();
    engine = std::move(made).value();
  }

  /// 64 blocks of 4 tokens of the scripted model.
  static EngineOptions small_options() {
    EngineOptions options;
    options.max_num_seqs = 4;
    options.chunk_tokens = 16;
    options.merge_tokens = 4;
    options.min_context = 16;
    options.kv_cache_bytes = 64 * kBlockBytes;
    return options;
  }

  static constexpr std::int64_t kBlockBytes =
      std::int64_t{2} * 2 * 2 * 4 * 4;  // k, v; layers; head dim; tokens

  static Request greedy(std::vector<TokenId> prompt, std::int64_t max_tokens) {
    Request request;
    request.prompt = std::move(prompt);
    request.sampling.temperature = 0;
    request.sampling.max_tokens = max_tokens;
    request.sampling.ignore_eos = true;
    return request;
  }

  /// What the scripted model says to a prompt, computed without an engine.
  static std::vector<TokenId> truth(std::vector<TokenId> context, std::int64_t max_tokens,
                                    std::int64_t vocab_size = 50) {
    std::vector<TokenId> out;
    std::vector<float> logits(static_cast<std::size_t>(vocab_size));
    for (std::int64_t i = 0; i < max_tokens; ++i) {
      ScriptedModel::hash_logits(context, logits);
      const auto best = std::max_element(logits.begin(), logits.end());
      out.push_back(static_cast<TokenId>(best - logits.begin()));
      context.push_back(out.back());
    }
    return out;
  }

  SeqId submit(Request request, RecordingSink& sink) {
    Result<SeqId> id = engine->submit(std::move(request), sink);
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? id.value() : SeqId{};
  }

  /// Steps until there is no work; returns how many steps had any.
  int run(int limit = 10'000) {
    int steps = 0;
    while (steps < limit && engine->step()) {
      ++steps;
    }
    EXPECT_LT(steps, limit) << "no end";
    return steps;
  }

  void expect_idle_and_whole() const {
    const EngineStats stats = engine->stats();
    EXPECT_EQ(stats.num_running, 0);
    EXPECT_EQ(stats.num_waiting, 0);
    EXPECT_EQ(stats.num_used_blocks(), 0);
    EXPECT_EQ(engine->check_invariants().message(), "");
  }

  ScriptedBackend backend;
  FakeClock clock;
  std::unique_ptr<Engine> engine;
};

}  // namespace plumb
