// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_test_scene.h"
#include "grammar/cfg.h"
#include "grammar/compiled_grammar.h"
#include "support/byte_tokenizer.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;
using Grammar = std::shared_ptr<const CompiledGrammar>;

Grammar compiled(Cfg cfg, std::shared_ptr<const GrammarVocab> vocab) {
  CompileBudget budget;
  Result<std::unique_ptr<const CompiledGrammar>> grammar =
      CompiledGrammar::compile(std::move(cfg), std::move(vocab), {}, &budget);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return std::move(grammar).value();
}

// Tokens of one to three of the bytes that nested lists are made of; token 0 ends a text.
std::vector<std::string> list_tokens() {
  std::vector<std::string> tokens{""};
  for (const char* text : {"[", "]", ",", "1", "2", "12", "[[", "]]", "],", ",[", "1,", ",2", "[1",
                           "2]", "1]]", "x", "[]"}) {
    tokens.emplace_back(text);
  }
  tokens.resize(50);
  return tokens;
}

// list = "[" item ("," item)* "]", item = digits | list
Cfg list_cfg() {
  Cfg cfg;
  const SymbolId list = cfg.nonterminal("list");
  const SymbolId items = cfg.nonterminal("items");
  RegexSet& regexes = cfg.regexes();
  const SymbolId digits = cfg.terminal(regexes.repeat(regexes.byte_range('1', '2'), 1, 3));
  const SymbolId item = cfg.any_of(std::vector<SymbolId>{digits, list});
  cfg.add_rule(list, {cfg.terminal("["), items, cfg.terminal("]")});
  cfg.add_rule(items, {item});
  cfg.add_rule(items, {items, cfg.terminal(","), item});
  cfg.set_start(list);
  return cfg;
}

// The same by recursive descent: the end of the list that begins at `at`, npos if there is none.
std::size_t list_end(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '[') {
    return std::string_view::npos;
  }
  do {
    ++at;
    const std::size_t begin = at;
    if (at < text.size() && text[at] == '[') {
      at = list_end(text, at);
    } else {
      while (at < text.size() && (text[at] == '1' || text[at] == '2')) {
        ++at;
      }
      if (at == begin || at - begin > 3) {
        return std::string_view::npos;
      }
    }
  } while (at < text.size() && text[at] == ',');
  return at < text.size() && text[at] == ']' ? at + 1 : std::string_view::npos;
}

std::string text_of(const Grammar& grammar, const Tokens& tokens) {
  std::string text;
  for (const TokenId token : tokens) {
    text += grammar->vocab().token_bytes(token);
  }
  return text;
}

Request constrained(const Grammar& grammar, std::uint64_t seed, std::int64_t max_tokens) {
  Request request = EngineScene::greedy({1, 2, static_cast<TokenId>(seed % 50)}, max_tokens);
  request.sampling.temperature = 1.5;
  request.sampling.seed = seed;
  request.sampling.ignore_eos = false;
  request.grammar = grammar;
  return request;
}

class EngineGrammar : public testing::Test {
 protected:
  std::shared_ptr<const GrammarVocab> vocab_ =
      std::make_shared<GrammarVocab>(list_tokens(), Tokens{0});
  Grammar lists_ = compiled(list_cfg(), vocab_);
};

TEST_F(EngineGrammar, every_finished_output_is_a_text_of_the_grammar_whatever_the_logits) {
  EngineScene scene;
  int num_complete = 0;
  for (std::uint64_t round = 0; round < 50; ++round) {
    std::vector<RecordingSink> sinks(4);
    for (std::uint64_t i = 0; i < sinks.size(); ++i) {
      scene.submit(constrained(lists_, round * 4 + i, 40), sinks[i]);
    }
    scene.run();
    for (const RecordingSink& sink : sinks) {
      if (sink.finish == FinishReason::kLength) {
        continue;
      }
      ASSERT_EQ(sink.finish, FinishReason::kComplete) << sink.last.status_message;
      const std::string text = text_of(lists_, sink.tokens);
      EXPECT_EQ(list_end(text, 0), text.size()) << text;
      ++num_complete;
    }
  }
  EXPECT_GT(num_complete, 100);
  scene.expect_idle_and_whole();
}

TEST_F(EngineGrammar, an_answer_does_not_depend_on_batch_cache_or_preemption) {
  EngineOptions tight = EngineScene::small_options();
  tight.kv_cache_bytes = 10 * EngineScene::kBlockBytes;
  tight.max_queued_requests = 100;
  tight.kv_conservativeness = 0;
  EngineScene scene(tight);
  std::vector<RecordingSink> sinks(30);
  for (std::uint64_t i = 0; i < sinks.size(); ++i) {
    scene.submit(constrained(lists_, i, 30), sinks[i]);
  }
  scene.run();
  EXPECT_GT(scene.engine->stats().num_preemptions, 0);
  for (std::uint64_t i = 0; i < sinks.size(); ++i) {
    EngineScene alone_scene;
    RecordingSink alone;
    alone_scene.submit(constrained(lists_, i, 30), alone);
    alone_scene.run();
    EXPECT_EQ(sinks[i].tokens, alone.tokens) << i;
    EXPECT_EQ(sinks[i].finish, alone.finish) << i;
  }
}

// Says token 0, the end, at every chance, and else the token with the highest number.
ScriptedModel::Options eager_to_end() {
  ScriptedModel::Options model;
  model.script = [](std::span<const TokenId>, std::span<float> logits) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] = i == 0 ? 100.0F : static_cast<float>(i);
    }
  };
  return model;
}

TEST_F(EngineGrammar, the_end_comes_only_where_the_text_is_complete) {
  Cfg cfg;
  const std::vector<RegexId> parts{
      cfg.regexes().literal("[1"),
      cfg.regexes().repeat(cfg.regexes().literal(",2"), 0, kUnbounded)};
  cfg.set_start(cfg.terminal(cfg.regexes().concat(parts)));
  const Grammar open = compiled(std::move(cfg), vocab_);
  EngineScene scene(EngineScene::small_options(), eager_to_end());
  RecordingSink ended;
  Request request = EngineScene::greedy({1}, 9);
  request.sampling.ignore_eos = false;
  request.grammar = open;
  scene.submit(request, ended);
  RecordingSink at_least;
  request.sampling.min_tokens = 3;
  scene.submit(request, at_least);
  RecordingSink endless;
  request.sampling.min_tokens = 0;
  request.sampling.ignore_eos = true;
  scene.submit(request, endless);
  scene.run();
  EXPECT_EQ(text_of(open, ended.tokens), "[1");
  EXPECT_EQ(ended.finish, FinishReason::kEos);
  EXPECT_EQ(text_of(open, at_least.tokens), "[1,2,2");
  EXPECT_EQ(at_least.finish, FinishReason::kEos);
  EXPECT_EQ(endless.tokens.size(), 9U);
  EXPECT_EQ(endless.finish, FinishReason::kLength);
}

TEST_F(EngineGrammar, a_text_that_nothing_can_follow_ends_without_another_token) {
  Cfg cfg;
  cfg.set_start(cfg.terminal("[12]"));
  const Grammar fixed = compiled(std::move(cfg), vocab_);
  EngineScene scene;
  RecordingSink sink;
  Request request = EngineScene::greedy({1}, 9);
  request.grammar = fixed;  // ignore_eos: the grammar ends it all the same
  scene.submit(request, sink);
  scene.run();
  EXPECT_EQ(text_of(fixed, sink.tokens), "[12]");
  EXPECT_EQ(sink.finish, FinishReason::kComplete);
  EXPECT_EQ(sink.last.usage.completion_tokens, static_cast<std::int64_t>(sink.tokens.size()));
}

TEST_F(EngineGrammar, what_the_vocabulary_cannot_write_ends_that_request_only) {
  Cfg cfg;
  cfg.set_start(cfg.terminal("[y"));
  const Grammar impossible = compiled(std::move(cfg), vocab_);
  EngineScene scene;
  RecordingSink bad;
  RecordingSink good;
  Request request = EngineScene::greedy({1}, 9);
  request.grammar = impossible;
  scene.submit(request, bad);
  scene.submit(EngineScene::greedy({1, 3}, 10), good);
  scene.run();
  EXPECT_EQ(bad.finish, FinishReason::kAbort);
  EXPECT_EQ(bad.last.status, Code::kInvalidArgument);
  EXPECT_EQ(bad.last.status_message, "the vocabulary has no token for what the grammar wants next");
  EXPECT_EQ(good.tokens, EngineScene::truth({1, 3}, 10));
  scene.expect_idle_and_whole();
}

TEST_F(EngineGrammar, a_grammar_of_another_vocabulary_is_refused) {
  ScriptedModel::Options model;
  model.vocab_size = 60;
  EngineScene scene(EngineScene::small_options(), model);
  RecordingSink sink;
  Request request = EngineScene::greedy({1}, 9);
  request.grammar = lists_;
  EXPECT_EQ(scene.engine->submit(request, sink).status().message(),
            "grammar of a vocabulary of 50 tokens, the model has 60");
}

// Records of a fixed form with a free digit: name=D;name=D;… three times.
class EngineJump : public testing::Test {
 protected:
  EngineJump() {
    Cfg cfg;
    RegexSet& regexes = cfg.regexes();
    const std::vector<RegexId> record{regexes.literal("the name="), regexes.byte_range('0', '9'),
                                      regexes.literal(";")};
    cfg.set_start(cfg.terminal(regexes.repeat(regexes.concat(record), 3, 3)));
    vocab_ = GrammarVocab::from_tokenizer(*tokenizer_, 257);
    records_ = compiled(std::move(cfg), vocab_);
    model_.vocab_size = 257;
  }

  struct Outcome {
    std::vector<RecordingSink> sinks;
    int num_steps = 0;
    EngineStats stats;
  };

  Outcome run(bool jump, std::size_t count, bool logprobs = false, std::int64_t blocks = 64) {
    EngineOptions options = EngineScene::small_options();
    options.jump_forward = jump;
    options.kv_cache_bytes = blocks * EngineScene::kBlockBytes;
    options.max_queued_requests = 100;
    options.kv_conservativeness = 0;
    EngineScene scene(options, model_);
    Outcome outcome;
    outcome.sinks = std::vector<RecordingSink>(count);
    for (std::size_t i = 0; i < count; ++i) {
      Request request = constrained(records_, i, 40);
      request.sampling.logprobs = logprobs;
      scene.submit(request, outcome.sinks[i]);
    }
    outcome.num_steps = scene.run();
    outcome.stats = scene.engine->stats();
    scene.expect_idle_and_whole();
    return outcome;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = make_byte_tokenizer();
  std::shared_ptr<const GrammarVocab> vocab_;
  Grammar records_;
  ScriptedModel::Options model_;
};

TEST_F(EngineJump, forced_tokens_are_appended_without_a_step_each) {
  const Outcome slow = run(false, 1);
  const Outcome fast = run(true, 1);
  EXPECT_EQ(slow.sinks[0].tokens.size(), 33U);
  EXPECT_EQ(fast.sinks[0].tokens, slow.sinks[0].tokens);
  EXPECT_EQ(fast.sinks[0].finish, FinishReason::kComplete);
  EXPECT_EQ(fast.sinks[0].last.usage.completion_tokens, 33);
  EXPECT_EQ(slow.num_steps, 33);
  EXPECT_EQ(fast.num_steps, 4);  // "t", and each digit
  EXPECT_EQ(fast.stats.num_forced_tokens, 29);
  EXPECT_EQ(slow.stats.num_forced_tokens, 0);
}

TEST_F(EngineJump, the_model_sees_the_forced_tokens_in_every_schedule) {
  const Outcome slow = run(false, 12);
  const Outcome tight = run(true, 12, false, 12);
  EXPECT_GT(tight.stats.num_preemptions, 0);
  for (std::size_t i = 0; i < slow.sinks.size(); ++i) {
    EXPECT_EQ(tight.sinks[i].tokens, slow.sinks[i].tokens) << i;
  }
}

TEST_F(EngineJump, a_request_for_log_probabilities_computes_each_token) {
  const Outcome outcome = run(true, 1, true);
  EXPECT_EQ(outcome.num_steps, 33);
  for (const EmittedToken& token : outcome.sinks[0].emitted) {
    EXPECT_LT(token.logprob, 0.0F);
  }
}

TEST_F(EngineJump, a_jump_ends_at_max_tokens_and_at_stop_tokens) {
  EngineScene scene(EngineScene::small_options(), model_);
  RecordingSink short_one;
  RecordingSink stopped;
  scene.submit(constrained(records_, 1, 5), short_one);
  Request request = constrained(records_, 1, 60);
  request.sampling.stop_token_ids = {'m'};
  scene.submit(request, stopped);
  scene.run();
  EXPECT_EQ(text_of(records_, short_one.tokens), "the n");
  EXPECT_EQ(short_one.finish, FinishReason::kLength);
  EXPECT_EQ(text_of(records_, stopped.tokens), "the nam");
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
  scene.expect_idle_and_whole();
}

}  // namespace
}  // namespace plumb
