// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "e2e/served_scene.h"

namespace plumb {
namespace {

constexpr const char* kNative = "/completion";

ServerOptions with_llamacpp() {
  ServerOptions options;
  options.compat = {"llamacpp"};
  return options;
}

// Six tokens, always the same.
std::string greedy_native(const std::string& members) {
  return R"({"temperature":0,"n_predict":6,"ignore_eos":true,)" + members + "}";
}

TEST(ServedLlamaCpp, the_route_is_served_where_an_option_says_so) {
  ServedScene scene;
  const HttpResponse response = scene.send("POST", kNative, R"({"prompt":"x"})");
  EXPECT_EQ(response.status, 404);
  EXPECT_NE(response.body.find("--compat llamacpp"), std::string::npos) << response.body;
}

TEST(ServedLlamaCpp, a_text_gives_what_completions_give) {
  ServedScene scene(with_llamacpp());
  const Json native = scene.post(kNative, greedy_native(R"("prompt":"abc","return_tokens":true)"));
  const Json completion = scene.post(
      "/v1/completions",
      R"({"prompt":"abc","temperature":0,"max_tokens":6,"ignore_eos":true,"return_token_ids":true})");
  EXPECT_EQ(text_at(native, {"content"}), text_at(completion, {"choices", 0, "text"}));
  EXPECT_EQ(array_at(native, {"tokens"}), array_at(completion, {"choices", 0, "token_ids"}));
  EXPECT_EQ(text_at(native, {"stop_type"}), "limit");
  EXPECT_EQ(text_at(native, {"model"}), "tiny");
  EXPECT_EQ(int_at(native, {"tokens_predicted"}), 6);
  EXPECT_EQ(int_at(native, {"tokens_evaluated"}), int_at(completion, {"usage", "prompt_tokens"}));
  EXPECT_EQ(int_at(native, {"generation_settings", "n_predict"}), 6);
  EXPECT_GT(at(native, {"timings", "predicted_ms"}).as_double(), 0);
  const Json ids = at(completion, {"choices", 0, "prompt_token_ids"});
  EXPECT_EQ(text_at(scene.post(kNative, greedy_native("\"prompt\":" + to_text(ids))), {"content"}),
            text_at(native, {"content"}));
}

TEST(ServedLlamaCpp, the_contents_of_a_stream_are_the_whole_content) {
  ServedScene scene(with_llamacpp());
  const Json whole = scene.post(kNative, greedy_native(R"("prompt":"abc","return_tokens":true)"));
  const std::vector<std::string> events =
      scene.stream(kNative, greedy_native(R"("prompt":"abc","stream":true)"));
  ASSERT_GE(events.size(), 2U);
  std::string content;
  JsonArray tokens;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Result<Json> event = parse_json(events[i]);
    ASSERT_TRUE(event.ok()) << events[i];
    content += text_at(event.value(), {"content"});
    const JsonArray some = array_at(event.value(), {"tokens"});
    tokens.insert(tokens.end(), some.begin(), some.end());
    EXPECT_EQ(at(event.value(), {"stop"}).as_bool(), i + 1 == events.size()) << events[i];
  }
  EXPECT_EQ(content, text_at(whole, {"content"}));
  EXPECT_EQ(tokens, array_at(whole, {"tokens"}));
}

TEST(ServedLlamaCpp, parts_of_a_prompt_are_one_and_several_prompts_are_a_batch) {
  ServedScene scene(with_llamacpp());
  const auto tokens_of = [&scene](const std::string& text, bool special) {
    return array_at(scene.post("/tokenize", R"({"content":")" + text + R"(","add_special":)" +
                                                (special ? "true}" : "false}")),
                    {"tokens"});
  };
  JsonArray joined = tokens_of("abc", true);
  joined.emplace_back(21);
  for (const Json& id : tokens_of("de", false)) {
    joined.push_back(id);
  }
  const Json mixed = scene.post(kNative, greedy_native(R"("prompt":["abc",21,"de"])"));
  const Json from_ids = scene.post(kNative, greedy_native("\"prompt\":" + to_text(Json(joined))));
  EXPECT_EQ(int_at(mixed, {"tokens_evaluated"}), static_cast<std::int64_t>(joined.size()));
  EXPECT_EQ(text_at(mixed, {"content"}), text_at(from_ids, {"content"}));
  const Json batch = scene.post(kNative, greedy_native(R"("prompt":["xyz",["abc",21,"de"]])"));
  ASSERT_EQ(batch.as_array().size(), 2U);
  EXPECT_EQ(int_at(batch, {1, "index"}), 1);
  EXPECT_EQ(text_at(batch, {1, "content"}), text_at(mixed, {"content"}));
  std::set<std::int64_t> ended;
  for (const std::string& event :
       scene.stream(kNative, greedy_native(R"("prompt":["a","b","c"],"stream":true)"))) {
    const Json json = parse_json(event).value();
    if (at(json, {"stop"}).as_bool()) {
      ended.insert(int_at(json, {"index"}));
    }
  }
  EXPECT_EQ(ended, (std::set<std::int64_t>{0, 1, 2}));
}

TEST(ServedLlamaCpp, a_word_or_a_grammar_ends_an_answer) {
  ServedScene scene(with_llamacpp());
  const Json open = scene.post(kNative, greedy_native(R"("prompt":"abc")"));
  const std::string word = text_at(open, {"content"}).substr(1, 1);
  const Json stopped =
      scene.post(kNative, greedy_native(R"("prompt":"abc","stop":[)" + to_text(Json(word)) + "]"));
  EXPECT_EQ(text_at(stopped, {"stop_type"}), "word");
  EXPECT_EQ(text_at(stopped, {"stopping_word"}), word);
  EXPECT_EQ(text_at(stopped, {"content"}).find(word), std::string::npos);
  const Json ruled = scene.post(
      kNative, R"({"prompt":"abc","n_predict":20,"grammar":"root ::= \"yes\" | \"no\""})");
  EXPECT_EQ(text_at(ruled, {"stop_type"}), "eos");
  EXPECT_TRUE(text_at(ruled, {"content"}) == "yes" || text_at(ruled, {"content"}) == "no");
  const Json shaped =
      scene.post(kNative, R"({"prompt":"abc","n_predict":64,"json_schema":{"const":{"a":1}}})");
  EXPECT_EQ(parse_json(text_at(shaped, {"content"})).value(), Json(JsonObject{{"a", 1}}));
}

TEST(ServedLlamaCpp, biases_forbid_and_prefer_tokens) {
  ServedScene scene(with_llamacpp());
  const Json open = scene.post(kNative, greedy_native(R"("prompt":"abc","return_tokens":true)"));
  const std::string first = to_text(at(open, {"tokens", 0}));
  const Json banned = scene.post(
      kNative,
      greedy_native(R"("prompt":"abc","return_tokens":true,"logit_bias":[[)" + first + ",false]]"));
  for (const Json& token : array_at(banned, {"tokens"})) {
    EXPECT_NE(to_text(token), first);
  }
  const Json preferred = scene.post(
      kNative, greedy_native(R"("prompt":"abc","return_tokens":true,"logit_bias":{"40":100})"));
  EXPECT_EQ(int_at(preferred, {"tokens", 0}), 40);
}

TEST(ServedLlamaCpp, an_answer_without_tokens_and_its_probabilities) {
  ServedScene scene(with_llamacpp());
  const Json none = scene.post(kNative, R"({"prompt":"abc","n_predict":0})");
  EXPECT_EQ(text_at(none, {"content"}), "");
  EXPECT_EQ(int_at(none, {"tokens_predicted"}), 0);
  EXPECT_EQ(text_at(none, {"stop_type"}), "limit");
  const Json told =
      scene.post(kNative, greedy_native(R"("prompt":"abc","n_probs":2,"return_tokens":true)"));
  const JsonArray probs = array_at(told, {"completion_probabilities"});
  ASSERT_EQ(probs.size(), 6U);
  for (std::size_t i = 0; i < probs.size(); ++i) {
    EXPECT_EQ(at(probs[i], {"id"}), array_at(told, {"tokens"})[i]);
    EXPECT_EQ(array_at(probs[i], {"top_logprobs"}).size(), 2U);
    EXPECT_EQ(at(probs[i], {"top_logprobs", 0, "id"}), at(probs[i], {"id"})) << "greedy";
  }
}

TEST(ServedLlamaCpp, a_slot_is_named_as_ignored_or_refused) {
  ServedScene scene(with_llamacpp());
  const HttpResponse response = scene.send(
      "POST", kNative, greedy_native(R"("prompt":"abc","id_slot":3,"cache_prompt":true)"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.find("x-plumb-ignored-fields").value_or(""), "id_slot");
  ServerOptions strict = with_llamacpp();
  strict.strict_fields = true;
  ServedScene other(strict);
  EXPECT_EQ(
      text_at(other.post(kNative, R"({"prompt":"abc","id_slot":3})", 400), {"error", "param"}),
      "id_slot");
}

}  // namespace
}  // namespace plumb
