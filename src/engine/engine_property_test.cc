// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "engine/engine_test_scene.h"
#include "grammar/cfg.h"
#include "grammar/compiled_grammar.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

// text = "a" text "b" | text text | "c", over tokens of one to three of these letters.
std::shared_ptr<const CompiledGrammar> nested_grammar() {
  std::vector<std::string> tokens{""};
  for (std::size_t i = 0; tokens.size() < 40; ++i) {
    for (const char letter : {'a', 'b', 'c'}) {
      tokens.push_back(tokens[i] + letter);
    }
  }
  tokens.resize(50);
  Cfg cfg;
  const SymbolId text = cfg.nonterminal("text");
  cfg.add_rule(text, {cfg.terminal("a"), text, cfg.terminal("b")});
  cfg.add_rule(text, {text, text});
  cfg.add_rule(text, {cfg.terminal("c")});
  cfg.set_start(text);
  CompileBudget budget;
  return CompiledGrammar::compile(std::move(cfg),
                                  std::make_shared<GrammarVocab>(std::move(tokens), Tokens{0}), {},
                                  &budget)
      .value();
}

// One request of a schedule and what became of it.
struct Case {
  Request request;
  int arrival = 0;    ///< step
  int abort_at = -1;  ///< step
  SeqId id{};
  std::unique_ptr<RecordingSink> sink;
  bool was_accepted = false;
};

// A random engine with random requests.
class Schedule {
 public:
  explicit Schedule(unsigned seed, bool has_window = false, bool overlaps = false)
      : random_(seed), overlaps_(overlaps) {
    model_.block_size = 1 + below(6);
    if (has_window) {
      model_.window = 2 + below(14);
      model_.is_all_windowed = below(4) == 0;
    }
    options_.max_num_seqs = 1 + below(6);
    options_.chunk_tokens = 1 + below(40);
    options_.merge_tokens = 1 + below(6);
    options_.max_partial_prefills = 1 + below(3);
    options_.min_context = 1;
    options_.prefix_cache = below(5) != 0;
    options_.kv_events = below(2) == 0;
    options_.evict_policy = static_cast<EvictStrategy>(below(kNumEvictStrategies));
    SchedulerOptions& scheduler = options_.scheduler;
    scheduler.schedule_policy = static_cast<ScheduleOrder>(below(kNumScheduleOrders));
    scheduler.priority_order = below(2) == 0 ? PriorityOrder::kHighFirst : PriorityOrder::kLowFirst;
    scheduler.priority_preemption_threshold = below(2);
    scheduler.priority_aging = std::chrono::milliseconds(below(2) * 20);
    scheduler.tenant_fairness = below(2) == 0;
    scheduler.tenant_weights = {"a=2"};
    scheduler.mixing = static_cast<Mixing>(below(3));
    scheduler.itl_target = std::chrono::milliseconds(1 + below(30));
    scheduler.kv_admission = below(3) == 0 ? AdmissionKind::kRatio : AdmissionKind::kSimulation;
    scheduler.skip_ahead = below(2) * 8;
    options_.kv_conservativeness = below(4) == 0 ? 0.3 : 0.0;
    options_.max_queued_requests = 1000;
    const std::int64_t num_tokens = (40 + below(60)) * (has_window ? 2 : 1);
    options_.kv_cache_bytes = num_tokens * 32;
    for (Tokens& stem : stems_) {
      stem = random_tokens(5 + below(40));
    }
    for (std::int64_t n = 4 + below(14); n > 0; --n) {
      cases_.push_back(random_case());
    }
  }

  void run() {
    EngineScene scene(options_, model_);
    for (int step = 0; step < 5'000; ++step) {
      for (Case& c : cases_) {
        if (c.arrival == step) {
          const Result<SeqId> id = scene.engine->submit(c.request, *c.sink);
          c.was_accepted = id.ok();
          c.id = id.ok() ? id.value() : SeqId{};
        }
        if (c.abort_at == step && c.was_accepted) {
          scene.engine->abort(c.id);
        }
      }
      scene.clock.advance(std::chrono::milliseconds(below(5)));
      const bool had_work = overlaps_ ? scene.engine->overlapped_step() : scene.engine->step();
      ASSERT_EQ(scene.engine->check_invariants().message(), "");
      if (!had_work && step > kLastArrival) {
        break;
      }
    }
    scene.expect_idle_and_whole();
    stats = scene.engine->stats();
    for (const Case& c : cases_) {
      if (c.was_accepted) {
        expect_as_alone(c);
      }
    }
  }

  EngineStats stats;
  int num_aborted = 0;
  int num_compared = 0;

 private:
  static constexpr int kLastArrival = 60;

  std::int64_t below(std::int64_t limit) { return static_cast<std::int64_t>(random_()) % limit; }

  Tokens random_tokens(std::int64_t count) {
    Tokens tokens;
    for (std::int64_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<TokenId>(below(50)));
    }
    return tokens;
  }

  Case random_case() {
    Case c;
    Tokens prompt;
    if (below(3) != 0) {
      const Tokens& stem = stems_[static_cast<std::size_t>(below(2))];
      prompt.assign(stem.begin(), stem.begin() + 1 + below(std::ssize(stem)));
    }
    const Tokens rest = random_tokens(prompt.empty() ? 1 + below(30) : below(12));
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    c.request = EngineScene::greedy(std::move(prompt), 1 + below(25));
    c.request.priority = below(3);
    c.request.cache_namespace = below(6) == 0 ? "other" : "";
    c.request.tenant = below(2) == 0 ? "a" : "b";
    c.request.routing_key = below(2) == 0 ? "x" : "y";
    SamplingParams& sampling = c.request.sampling;
    if (below(3) == 0) {
      sampling.temperature = 1;
      sampling.seed = random_();
      sampling.top_k = below(2) * 10;
      sampling.frequency_penalty = static_cast<double>(below(2));
      sampling.top_p = below(2) == 0 ? 1.0 : 0.9;
      sampling.joint_top_k_top_p = below(2) == 0;
    }
    if (below(4) == 0) {
      sampling.bad_words = {{1}, random_tokens(2), random_tokens(3)};
    }
    if (below(4) == 0) {
      sampling.processors.push_back({"ngram_ban", {{"ngram_size", 1 + below(2)}}});
    }
    if (below(4) == 0) {
      sampling.processors.push_back(
          {"thinking_budget", {{"budget", below(9)}, {"end_token_id", 7}}});
    }
    if (below(2) == 0) {
      sampling.logprobs_mode = LogprobsMode::kProcessed;
    }
    sampling.min_tokens = below(3) == 0 ? 1 + below(c.request.sampling.max_tokens) : 0;
    sampling.ignore_eos = below(2) == 0;
    sampling.prompt_logprobs = below(8) == 0;
    sampling.logprobs = below(4) == 0;
    if (below(4) == 0) {
      static const std::shared_ptr<const CompiledGrammar> kGrammar = nested_grammar();
      c.request.grammar = kGrammar;
    }
    c.arrival = static_cast<int>(below(kLastArrival));
    c.abort_at = below(6) == 0 ? c.arrival + static_cast<int>(below(30)) : -1;
    c.sink = std::make_unique<RecordingSink>();
    return c;
  }

  // The same request in an engine of its own with a cold cache and room for everything.
  void expect_as_alone(const Case& c) {
    EngineOptions options;
    options.max_num_seqs = 1;
    options.chunk_tokens = 512;
    options.prefix_cache = false;
    options.kv_cache_bytes = std::int64_t{512} * 32;
    options.min_context = 1;
    ScriptedModel::Options model = model_;
    model.block_size = 4;
    EngineScene scene(options, model);
    RecordingSink alone;
    scene.submit(c.request, alone);
    scene.run();
    ASSERT_TRUE(c.sink->has_ended());
    // A request may forbid itself every token; then it fails alone as well.
    const bool was_aborted =
        c.sink->finish == FinishReason::kAbort && c.sink->last.status == Code::kCancelled;
    if (was_aborted) {
      ++num_aborted;
      ASSERT_LE(c.sink->tokens.size(), alone.tokens.size());
      alone.tokens.resize(c.sink->tokens.size());
      alone.emitted.resize(c.sink->tokens.size());
    } else {
      EXPECT_EQ(c.sink->finish, alone.finish);
      EXPECT_EQ(c.sink->last.status, alone.last.status);
    }
    EXPECT_EQ(c.sink->tokens, alone.tokens);
    for (std::size_t i = 0; i < alone.emitted.size(); ++i) {
      EXPECT_EQ(c.sink->emitted[i].logprob, alone.emitted[i].logprob);  // to the last bit
    }
    if (!alone.tokens.empty() && c.request.sampling.prompt_logprobs) {
      ASSERT_EQ(c.sink->prompt_logprobs.size(), c.request.prompt.size());
      for (std::size_t i = 0; i < c.request.prompt.size(); ++i) {
        EXPECT_EQ(c.sink->prompt_logprobs[i].logprob, alone.prompt_logprobs[i].logprob);
      }
    }
    ++num_compared;
  }

  std::mt19937 random_;
  bool overlaps_;
  ScriptedModel::Options model_;
  EngineOptions options_;
  std::array<Tokens, 2> stems_;
  std::vector<Case> cases_;
};

// Layers with a window give blocks back as sequences go on, and lose parts of cached prefixes by
// themselves: no answer may show it.
TEST(EngineProperty, every_answer_is_the_one_given_alone_where_layers_have_a_window) {
  EngineStats sum;
  int num_compared = 0;
  for (unsigned seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, true);
    schedule.run();
    sum.num_preemptions += schedule.stats.num_preemptions;
    sum.num_displaced += schedule.stats.num_displaced;
    sum.num_prefix_hits += schedule.stats.num_prefix_hits;
    sum.num_tail_copies += schedule.stats.num_tail_copies;
    sum.num_chunked_prompts += schedule.stats.num_chunked_prompts;
    sum.num_evicted_blocks += schedule.stats.num_evicted_blocks;
    sum.num_evicted_window_blocks += schedule.stats.num_evicted_window_blocks;
    sum.num_passed_window_blocks += schedule.stats.num_passed_window_blocks;
    sum.num_cut_prefixes += schedule.stats.num_cut_prefixes;
    num_compared += schedule.num_compared;
  }
  RecordProperty("evicted_window_blocks", static_cast<int>(sum.num_evicted_window_blocks));
  RecordProperty("passed_window_blocks", static_cast<int>(sum.num_passed_window_blocks));
  RecordProperty("cut_prefixes", static_cast<int>(sum.num_cut_prefixes));
  EXPECT_GT(sum.num_preemptions, 100);
  EXPECT_GT(sum.num_displaced, 30);
  EXPECT_GT(sum.num_prefix_hits, 500);
  EXPECT_GT(sum.num_tail_copies, 200);
  EXPECT_GT(sum.num_chunked_prompts, 300);
  EXPECT_GT(sum.num_evicted_blocks, 500);
  EXPECT_GT(sum.num_evicted_window_blocks, 1000);
  EXPECT_GT(sum.num_passed_window_blocks, 3000);
  EXPECT_GT(sum.num_cut_prefixes, 50);
  EXPECT_GT(num_compared, 3000);
}

TEST(EngineProperty, every_answer_is_the_one_given_alone_with_a_cold_cache) {
  EngineStats sum;
  int num_aborted = 0;
  int num_compared = 0;
  for (unsigned seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed);
    schedule.run();
    sum.num_preemptions += schedule.stats.num_preemptions;
    sum.num_displaced += schedule.stats.num_displaced;
    sum.num_passing += schedule.stats.num_passing;
    sum.num_prefix_hits += schedule.stats.num_prefix_hits;
    sum.num_tail_copies += schedule.stats.num_tail_copies;
    sum.num_mixed_steps += schedule.stats.num_mixed_steps;
    sum.num_chunked_prompts += schedule.stats.num_chunked_prompts;
    sum.num_evicted_blocks += schedule.stats.num_evicted_blocks;
    num_aborted += schedule.num_aborted;
    num_compared += schedule.num_compared;
  }
  RecordProperty("preemptions", static_cast<int>(sum.num_preemptions));
  RecordProperty("prefix_hits", static_cast<int>(sum.num_prefix_hits));
  RecordProperty("mixed_steps", static_cast<int>(sum.num_mixed_steps));
  EXPECT_GT(sum.num_preemptions, 300);
  EXPECT_GT(sum.num_displaced, 50);
  EXPECT_GT(sum.num_passing, 10);
  EXPECT_GT(sum.num_prefix_hits, 500);
  EXPECT_GT(sum.num_tail_copies, 300);
  EXPECT_GT(sum.num_mixed_steps, 1000);
  EXPECT_GT(sum.num_chunked_prompts, 300);
  EXPECT_GT(sum.num_evicted_blocks, 1000);
  EXPECT_GT(num_aborted, 100);
  EXPECT_GT(num_compared, 3000);
}

// The engine that an answer is compared with runs step by step.
TEST(EngineProperty, every_answer_is_the_one_given_alone_with_steps_launched_ahead) {
  EngineStats sum;
  int num_aborted = 0;
  int num_compared = 0;
  for (unsigned seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, seed % 2 == 0, true);
    schedule.run();
    sum.num_steps += schedule.stats.num_steps;
    sum.num_ahead_steps += schedule.stats.num_ahead_steps;
    sum.num_preemptions += schedule.stats.num_preemptions;
    sum.num_displaced += schedule.stats.num_displaced;
    sum.num_prefix_hits += schedule.stats.num_prefix_hits;
    sum.num_tail_copies += schedule.stats.num_tail_copies;
    sum.num_evicted_blocks += schedule.stats.num_evicted_blocks;
    sum.num_passed_window_blocks += schedule.stats.num_passed_window_blocks;
    num_aborted += schedule.num_aborted;
    num_compared += schedule.num_compared;
  }
  RecordProperty("steps", static_cast<int>(sum.num_steps));
  RecordProperty("ahead_steps", static_cast<int>(sum.num_ahead_steps));
  EXPECT_GT(sum.num_ahead_steps, 1000);
  EXPECT_GT(sum.num_preemptions, 200);
  EXPECT_GT(sum.num_displaced, 50);
  EXPECT_GT(sum.num_prefix_hits, 500);
  EXPECT_GT(sum.num_tail_copies, 200);
  EXPECT_GT(sum.num_evicted_blocks, 500);
  EXPECT_GT(sum.num_passed_window_blocks, 1000);
  EXPECT_GT(num_aborted, 100);
  EXPECT_GT(num_compared, 3000);
}

}  // namespace
}  // namespace plumb
