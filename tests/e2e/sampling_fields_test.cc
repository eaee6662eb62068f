// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "e2e/served_scene.h"

namespace plumb {
namespace {

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";

std::string chat(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"Tell me"}],"max_tokens":200,)" + fields + "}";
}

TEST(SamplingFields, prompt_logprobs_seed_and_token_ids_come_back) {
  ServedScene scene;
  const Json answer = scene.post(
      kCompletions,
      R"({"prompt":[70,71,72],"max_tokens":4,"prompt_logprobs":2,"return_token_ids":true,)"
      R"("return_meta_info":true,"ignore_eos":true})");
  const JsonArray prompt = array_at(answer, {"choices", 0, "prompt_logprobs"});
  ASSERT_EQ(prompt.size(), 3U);
  EXPECT_TRUE(prompt[0].is_null());
  EXPECT_LE(prompt[1].as_object().size(), 3U);
  ASSERT_NE(prompt[1].find("71"), nullptr);
  EXPECT_GE(int_at(prompt[1], {"71", "rank"}), 1);
  EXPECT_EQ(to_text(at(answer, {"choices", 0, "prompt_token_ids"})), "[70,71,72]");
  EXPECT_EQ(array_at(answer, {"choices", 0, "token_ids"}).size(), 4U);
  const std::int64_t seed = int_at(answer, {"plumb", "seed"});
  EXPECT_GE(seed, 0);
  const Json again =
      scene.post(kCompletions, R"({"prompt":[70,71,72],"max_tokens":4,"ignore_eos":true,"seed":)" +
                                   std::to_string(seed) + "}");
  EXPECT_EQ(text_at(again, {"choices", 0, "text"}), text_at(answer, {"choices", 0, "text"}));
}

TEST(SamplingFields, a_stop_expression_and_bad_words_act_on_the_text) {
  ServedScene scene;
  const std::string fields = R"("temperature":0,"max_tokens":30,"ignore_eos":true)";
  const std::string free = text_at(scene.post(kCompletions, R"({"prompt":"Hello",)" + fields + "}"),
                                   {"choices", 0, "text"});
  const Json stopped =
      scene.post(kCompletions, R"({"prompt":"Hello","stop_regex":"[a-z]{2}",)" + fields + "}");
  const std::string text = text_at(stopped, {"choices", 0, "text"});
  EXPECT_TRUE(free.starts_with(text));
  EXPECT_LT(text.size(), free.size());
  EXPECT_EQ(text_at(stopped, {"choices", 0, "finish_reason"}), "stop");
  EXPECT_EQ(text_at(stopped, {"choices", 0, "stop_reason"}), "[a-z]{2}");
  const JsonArray ids = array_at(
      scene.post(kCompletions, R"({"prompt":"Hello","return_token_ids":true,)" + fields + "}"),
      {"choices", 0, "token_ids"});
  const Json banned =
      scene.post(kCompletions, R"({"prompt":"Hello","return_token_ids":true,"bad_words":[[)" +
                                   to_text(ids[3]) + "]]," + fields + "}");
  const JsonArray others = array_at(banned, {"choices", 0, "token_ids"});
  EXPECT_EQ(std::count(others.begin(), others.end(), ids[3]), 0);
}

TEST(SamplingFields, tokens_may_be_named_by_their_ids) {
  ServedScene scene;
  const Json answer = scene.post(
      kChat,
      chat(R"("logprobs":true,"return_tokens_as_token_ids":true,"max_completion_tokens":2)"));
  EXPECT_EQ(text_at(answer, {"choices", 0, "logprobs", "content", 0, "token"}).substr(0, 9),
            "token_id:");
}

}  // namespace
}  // namespace plumb
