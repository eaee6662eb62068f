// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

Tokens answer(const Request& request) {
  EngineScene scene;
  RecordingSink sink;
  scene.submit(request, sink);
  scene.run();
  return sink.tokens;
}

bool holds(const Tokens& tokens, const Tokens& run) {
  return std::search(tokens.begin(), tokens.end(), run.begin(), run.end()) != tokens.end();
}

TEST(EngineSampling, a_bad_word_does_not_come_out_and_its_beginning_may) {
  const Tokens free = answer(EngineScene::greedy({1, 2}, 30));
  const Tokens word{free[4], free[5]};
  Request request = EngineScene::greedy({1, 2}, 30);
  request.sampling.bad_words = {word};
  const Tokens banned = answer(request);
  EXPECT_FALSE(holds(banned, word));
  EXPECT_EQ(Tokens(banned.begin(), banned.begin() + 5), Tokens(free.begin(), free.begin() + 5));
  EXPECT_NE(banned[5], free[5]);
}

TEST(EngineSampling, a_processor_sees_the_whole_output) {
  Request request = EngineScene::greedy({1, 2}, 40);
  request.sampling.processors.push_back({"ngram_ban", {{"ngram_size", 1}}});
  Tokens tokens = answer(request);
  EXPECT_EQ(tokens.size(), 40U);
  std::sort(tokens.begin(), tokens.end());
  EXPECT_EQ(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

TEST(EngineSampling, a_thinking_budget_forces_the_end_token_at_its_place) {
  Request request = EngineScene::greedy({1, 2}, 10);
  request.sampling.processors.push_back({"thinking_budget", {{"budget", 4}, {"end_token_id", 49}}});
  const Tokens free = answer(EngineScene::greedy({1, 2}, 10));
  ASSERT_FALSE(holds(Tokens(free.begin(), free.begin() + 4), {49}));
  EXPECT_EQ(answer(request)[4], 49);
}

TEST(EngineSampling, an_unknown_processor_is_refused_with_the_known_ones) {
  EngineScene scene;
  RecordingSink sink;
  Request request = EngineScene::greedy({1, 2}, 10);
  request.sampling.processors.push_back({"nothing", {}});
  const Status status = scene.engine->submit(request, sink).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "custom_logit_processor 'nothing' is not known, expected one of thinking_budget, "
            "allow_list, ngram_ban, script");
}

TEST(EngineSampling, bans_that_leave_no_token_end_that_request_only) {
  EngineScene scene;
  RecordingSink bad;
  RecordingSink good;
  Request request = EngineScene::greedy({1, 2}, 10);
  request.sampling.allowed_token_ids = {3};
  request.sampling.processors.push_back({"ngram_ban", {{"ngram_size", 1}}});
  scene.submit(request, bad);
  scene.submit(EngineScene::greedy({1, 3}, 10), good);
  scene.run();
  EXPECT_EQ(bad.tokens, Tokens{3});
  EXPECT_EQ(bad.finish, FinishReason::kAbort);
  EXPECT_EQ(bad.last.status, Code::kInvalidArgument);
  EXPECT_EQ(good.tokens, EngineScene::truth({1, 3}, 10));
  scene.expect_idle_and_whole();
}

TEST(EngineSampling, an_answer_of_a_seed_does_not_depend_on_the_batch) {
  const auto request_of = [](std::uint64_t seed) {
    Request request = EngineScene::greedy({1, 2, 3}, 20);
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    request.sampling.top_p = 0.9;
    return request;
  };
  EngineScene scene;
  std::vector<RecordingSink> sinks(7);
  for (std::uint64_t i = 0; i < sinks.size(); ++i) {
    scene.submit(request_of(i), sinks[i]);
  }
  scene.run();
  for (std::uint64_t i = 0; i < sinks.size(); ++i) {
    EXPECT_EQ(sinks[i].tokens, answer(request_of(i))) << i;
  }
}

TEST(EngineSampling, ends_that_do_not_stop_and_stop_tokens_that_still_do) {
  const auto run = [](bool ignore_eos, Tokens stops) {
    ScriptedModel::Options model;
    model.script = [](std::span<const TokenId> context, std::span<float> logits) {
      std::fill(logits.begin(), logits.end(), 0.0F);
      logits[context.size() == 3 ? 0 : context.size()] = 9;  // its second token is the end token
    };
    EngineScene scene(EngineScene::small_options(), model);
    RecordingSink sink;
    Request request = EngineScene::greedy({1, 2}, 6);
    request.sampling.ignore_eos = ignore_eos;
    request.sampling.stop_token_ids = std::move(stops);
    scene.submit(request, sink);
    scene.run();
    return std::pair(sink.tokens, sink.finish);
  };
  EXPECT_EQ(run(false, {}), std::pair(Tokens({2, 0}), FinishReason::kEos));
  EXPECT_EQ(run(true, {}), std::pair(Tokens({2, 0, 4, 5, 6, 7}), FinishReason::kLength));
  EXPECT_EQ(run(true, {5}), std::pair(Tokens({2, 0, 4, 5}), FinishReason::kStop));
}

}  // namespace
}  // namespace plumb
