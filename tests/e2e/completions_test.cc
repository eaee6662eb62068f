// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "e2e/served_scene.h"

namespace plumb {
namespace {

constexpr const char* kCompletions = "/v1/completions";

std::string completion(const std::string& prompt, const std::string& fields) {
  return "{\"prompt\":" + prompt + "," + fields + "}";
}

std::string text_of(const Json& answer, int index = 0) {
  return text_at(answer, {"choices", index, "text"});
}

TEST(Completions, greedy_answers_repeat_and_count_their_tokens) {
  ServedScene scene;
  const std::string body =
      completion("\"Once upon\"", R"("max_tokens":20,"temperature":0,"ignore_eos":true)");
  const Json first = scene.post(kCompletions, body);
  const Json second = scene.post(kCompletions, body);
  EXPECT_EQ(text_of(first), text_of(second));
  EXPECT_EQ(text_at(first, {"object"}), "text_completion");
  EXPECT_EQ(text_at(first, {"id"}).substr(0, 5), "cmpl-");
  EXPECT_EQ(text_at(first, {"id"}).size(), 34U);
  EXPECT_NE(text_at(first, {"id"}), text_at(second, {"id"}));
  EXPECT_EQ(text_at(first, {"choices", 0, "finish_reason"}), "length");
  EXPECT_EQ(int_at(first, {"usage", "completion_tokens"}), 20);
  const Json counted = scene.post("/tokenize", R"({"prompt":"Once upon"})");
  EXPECT_EQ(int_at(first, {"usage", "prompt_tokens"}), int_at(counted, {"count"}));
}

TEST(Completions, the_largest_list_of_prompts_is_taken_by_an_empty_queue) {
  ServedScene scene;
  std::string prompts = "[1]";
  for (int i = 1; i < 2048; ++i) {
    prompts += ",[" + std::to_string(1 + i % 200) + "]";
  }
  const Json answer =
      scene.post(kCompletions, completion("[" + prompts + "]", R"("max_tokens":1)"));
  EXPECT_EQ(array_at(answer, {"choices"}).size(), 2048U);
  EXPECT_EQ(int_at(answer, {"choices", 2047, "index"}), 2047);
}

TEST(Completions, sixteen_tokens_are_the_default) {
  ServedScene scene;
  const Json answer = scene.post(kCompletions, completion("\"x\"", R"("ignore_eos":true)"));
  EXPECT_EQ(int_at(answer, {"usage", "completion_tokens"}), 16);
}

TEST(Completions, ids_and_text_are_the_same_prompt) {
  ServedScene scene;
  const Json ids = at(scene.post("/tokenize", R"({"prompt":"Hello there"})"), {"tokens"});
  const std::string fields = R"("max_tokens":8,"temperature":0,"ignore_eos":true)";
  const Json by_text = scene.post(kCompletions, completion("\"Hello there\"", fields));
  const Json by_ids = scene.post(kCompletions, completion(to_text(ids), fields));
  EXPECT_EQ(text_of(by_text), text_of(by_ids));
  EXPECT_EQ(int_at(by_text, {"usage", "prompt_tokens"}),
            int_at(by_ids, {"usage", "prompt_tokens"}));
  const Json batch =
      scene.post(kCompletions, completion("[" + to_text(ids) + ",[70,71]]", fields + ",\"n\":2"));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(int_at(batch, {"choices", i, "index"}), i);
  }
  EXPECT_EQ(text_of(batch, 0), text_of(by_ids));
  EXPECT_EQ(text_of(batch, 1), text_of(by_ids));
  EXPECT_EQ(int_at(batch, {"usage", "prompt_tokens"}),
            int_at(by_ids, {"usage", "prompt_tokens"}) + 2);
  EXPECT_EQ(int_at(batch, {"usage", "completion_tokens"}), 32);
}

TEST(Completions, an_empty_prompt_begins_with_the_begin_token) {
  ServedScene scene;
  const Json answer =
      scene.post(kCompletions, completion("null", R"("max_tokens":2,"ignore_eos":true)"));
  EXPECT_EQ(int_at(answer, {"usage", "prompt_tokens"}), 1);
}

TEST(Completions, echo_of_nothing_but_the_prompt_has_no_completion) {
  ServedScene scene;
  const Json answer = scene.post(
      kCompletions,
      completion("\"AB\"",
                 R"("echo":true,"logprobs":1,"max_tokens":0,"add_special_tokens":false)"));
  EXPECT_EQ(text_of(answer), "AB");
  EXPECT_EQ(text_at(answer, {"choices", 0, "finish_reason"}), "length");
  EXPECT_EQ(int_at(answer, {"usage", "completion_tokens"}), 0);
  const Json logprobs = at(answer, {"choices", 0, "logprobs"});
  const std::size_t count = array_at(logprobs, {"tokens"}).size();
  EXPECT_EQ(static_cast<std::int64_t>(count), int_at(answer, {"usage", "prompt_tokens"}));
  EXPECT_TRUE(at(logprobs, {"token_logprobs", 0}).is_null());
  EXPECT_TRUE(at(logprobs, {"top_logprobs", 0}).is_null());
  EXPECT_EQ(int_at(logprobs, {"text_offset", 0}), 0);
  for (std::size_t i = 1; i < count; ++i) {
    EXPECT_LE(at(logprobs, {"token_logprobs", static_cast<int>(i)}).as_double(), 0.0);
  }
}

TEST(Completions, echoed_prompt_logprobs_equal_those_of_generating_it) {
  ServedScene scene;
  const std::string logprobs = R"("logprobs":0,"ignore_eos":true,"temperature":0)";
  const Json generated = scene.post(
      kCompletions,
      completion("[70,71,72]", "\"max_tokens\":6,\"return_token_ids\":true," + logprobs));
  const Json echoed = scene.post(
      kCompletions, completion("[70,71,72]", "\"max_tokens\":6,\"echo\":true," + logprobs));
  const JsonArray later = array_at(generated, {"choices", 0, "logprobs", "token_logprobs"});
  const JsonArray whole = array_at(echoed, {"choices", 0, "logprobs", "token_logprobs"});
  ASSERT_EQ(later.size(), 6U);
  ASSERT_EQ(whole.size(), 9U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(later[i].as_double(), whole[3 + i].as_double(), 1e-5);
  }
  const JsonArray offsets = array_at(echoed, {"choices", 0, "logprobs", "text_offset"});
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end(),
                             [](const Json& a, const Json& b) { return a.as_int() < b.as_int(); }));
}

TEST(Completions, logprobs_are_those_of_a_distribution) {
  ServedScene scene;
  const Json answer = scene.post(
      kCompletions, completion("\"x\"", R"("max_tokens":5,"logprobs":20,"ignore_eos":true)"));
  for (int i = 0; i < 5; ++i) {
    const Json top = at(answer, {"choices", 0, "logprobs", "top_logprobs", i});
    ASSERT_TRUE(top.is_object());
    double sum = 0;
    for (const JsonMember& member : top.as_object()) {
      sum += std::exp(member.value.as_double());
    }
    EXPECT_LE(sum, 1.0 + 1e-4);
    EXPECT_GT(sum, 0.0);
  }
}

TEST(Completions, best_of_returns_the_likeliest_and_counts_all) {
  ServedScene scene;
  const std::string fields =
      R"("max_tokens":6,"temperature":1,"seed":3,"ignore_eos":true,"logprobs":0)";
  const Json all = scene.post(kCompletions, completion("\"x\"", fields + R"(,"n":5)"));
  const Json best = scene.post(kCompletions, completion("\"x\"", fields + R"(,"n":2,"best_of":5)"));
  std::vector<std::pair<double, std::string>> ranked;
  for (int i = 0; i < 5; ++i) {
    double sum = 0;
    for (const Json& value : array_at(all, {"choices", i, "logprobs", "token_logprobs"})) {
      sum += value.as_double();
    }
    ranked.emplace_back(-sum, text_of(all, i));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  EXPECT_EQ(array_at(best, {"choices"}).size(), 2U);
  EXPECT_EQ(text_of(best, 0), ranked[0].second);
  EXPECT_EQ(text_of(best, 1), ranked[1].second);
  EXPECT_EQ(int_at(best, {"choices", 1, "index"}), 1);
  EXPECT_EQ(int_at(best, {"usage", "completion_tokens"}), 30);
}

TEST(Completions, a_seed_decides_and_choices_differ_by_it) {
  ServedScene scene;
  const auto body = [](int seed) {
    return completion("\"x\"", R"("max_tokens":12,"temperature":1,"ignore_eos":true,"seed":)" +
                                   std::to_string(seed));
  };
  EXPECT_EQ(text_of(scene.post(kCompletions, body(1))), text_of(scene.post(kCompletions, body(1))));
  EXPECT_NE(text_of(scene.post(kCompletions, body(1))), text_of(scene.post(kCompletions, body(2))));
}

TEST(Completions, a_bias_bans_and_forces_tokens) {
  ServedScene scene;
  const Json forced = scene.post(
      kCompletions,
      completion("\"x\"",
                 R"("max_tokens":3,"temperature":0,"ignore_eos":true,"logit_bias":{"69":100})"));
  const Json letter = scene.post("/detokenize", R"({"tokens":[69,69,69]})");
  EXPECT_EQ(text_of(forced), text_at(letter, {"text"}));
}

TEST(Completions, a_stop_string_cuts_streamed_and_whole_text_alike) {
  ServedScene scene;
  const std::string fields = R"("max_tokens":40,"temperature":1,"seed":11,"ignore_eos":true)";
  const std::string whole = text_of(scene.post(kCompletions, completion("\"x\"", fields)));
  ASSERT_GT(whole.size(), 12U);
  std::size_t begin = 6;
  while ((static_cast<unsigned char>(whole[begin]) & 0xC0) == 0x80) {
    ++begin;
  }
  std::size_t end = begin + 3;
  while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xC0) == 0x80) {
    ++end;
  }
  const std::string stop = whole.substr(begin, end - begin);
  const std::string expected = whole.substr(0, whole.find(stop));
  const std::string stopping =
      fields + ",\"stop\":[" + to_text(Json("never\x01")) + "," + to_text(Json(stop)) + ",\"\"]";
  const Json cut = scene.post(kCompletions, completion("\"x\"", stopping));
  EXPECT_EQ(text_of(cut), expected);
  EXPECT_EQ(text_at(cut, {"choices", 0, "finish_reason"}), "stop");
  EXPECT_EQ(text_at(cut, {"choices", 0, "stop_reason"}), stop);
  std::string streamed;
  for (const std::string& event :
       scene.stream(kCompletions, completion("\"x\"", stopping + ",\"stream\":true"))) {
    streamed += event == "[DONE]" ? "" : text_of(parse_json(event).value());
  }
  EXPECT_EQ(streamed, expected);
  const Json kept = scene.post(
      kCompletions, completion("\"x\"", stopping + ",\"include_stop_str_in_output\":true"));
  EXPECT_EQ(text_of(kept), expected + stop);
  EXPECT_TRUE(scene.is_idle());
}

TEST(Completions, a_prompt_seen_before_is_reported_as_cached) {
  ServedScene scene;
  const std::string body = completion("\"" + std::string(300, 'a') + "\"", R"("max_tokens":1)");
  EXPECT_EQ(
      int_at(scene.post(kCompletions, body), {"usage", "prompt_tokens_details", "cached_tokens"}),
      0);
  EXPECT_GT(
      int_at(scene.post(kCompletions, body), {"usage", "prompt_tokens_details", "cached_tokens"}),
      100);
  const std::string salted =
      completion("\"" + std::string(300, 'a') + "\"", R"("max_tokens":1,"cache_salt":"mine")");
  EXPECT_EQ(
      int_at(scene.post(kCompletions, salted), {"usage", "prompt_tokens_details", "cached_tokens"}),
      0);
}

}  // namespace
}  // namespace plumb
