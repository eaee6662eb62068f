// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_response.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr const char* kTime = "2026-01-31T12:00:00.000000Z";

ChoiceEnd ollama_end(FinishReason reason) {
  const Clock::TimePoint begin{milliseconds(1000)};
  ChoiceEnd end;
  end.reason = reason;
  end.usage = {.prompt_tokens = 11, .completion_tokens = 3};
  end.timings.submitted = begin + microseconds(5);
  end.timings.first_token = begin + microseconds(25);
  end.timings.last_token = begin + microseconds(85);
  return end;
}

TEST(OllamaResponse, a_line_of_chat_has_a_message) {
  const OllamaResponse response(OllamaRoute::kChat, "m:latest");
  EXPECT_EQ(to_text(response.part(kTime, {.text = "a\xE2\x80\xA8z"})),
            R"({"model":"m:latest","created_at":"2026-01-31T12:00:00.000000Z",)"
            R"("message":{"role":"assistant","content":"a\u2028z"},"done":false})");
  EXPECT_EQ(to_text(response.part(kTime, {.thinking = "hm"})),
            R"({"model":"m:latest","created_at":"2026-01-31T12:00:00.000000Z",)"
            R"("message":{"role":"assistant","content":"","thinking":"hm"},"done":false})");
  EXPECT_EQ(to_text(response.part(kTime, {.calls = {ollama_call("f", R"({"a":"\u2028"})")}})),
            R"({"model":"m:latest","created_at":"2026-01-31T12:00:00.000000Z",)"
            R"("message":{"role":"assistant","content":"","tool_calls":[{"function":)"
            R"({"name":"f","arguments":{"a":"\u2028"}}}]},"done":false})");
}

TEST(OllamaResponse, the_last_object_counts_tokens_and_nanoseconds) {
  const Clock::TimePoint received{milliseconds(1000)};
  const std::vector<TokenId> context{1, 2};
  const OllamaResponse response(OllamaRoute::kGenerate, "m");
  EXPECT_EQ(to_text(response.last(kTime, {.text = "x"}, ollama_end(FinishReason::kLength), received,
                                  &context)),
            R"({"model":"m","created_at":"2026-01-31T12:00:00.000000Z","response":"x","done":true,)"
            R"("done_reason":"length","total_duration":85000,"load_duration":0,)"
            R"("prompt_eval_count":11,"prompt_eval_duration":20000,"eval_count":3,)"
            R"("eval_duration":60000,"context":[1,2]})");
  const Json called = OllamaResponse(OllamaRoute::kChat, "m")
                          .last(kTime, {}, ollama_end(FinishReason::kToolCalls), received, nullptr);
  EXPECT_EQ(*called.find("done_reason"), Json("stop"));
  EXPECT_EQ(called.find("context"), nullptr);
}

TEST(OllamaResponse, no_duration_is_zero) {
  ChoiceEnd end = ollama_end(FinishReason::kEos);
  end.timings.last_token = end.timings.first_token;
  const Json last = OllamaResponse(OllamaRoute::kChat, "m")
                        .last(kTime, {}, end, Clock::TimePoint{milliseconds(1000)}, nullptr);
  EXPECT_EQ(*last.find("eval_duration"), Json(1));
}

TEST(OllamaResponse, log_probabilities_are_those_of_the_text) {
  const std::vector<TokenText> tokens{
      {.token = 1, .bytes = "h", .logprob = -1.0F, .kind = AnswerKind::kReasoning},
      {.token = 2, .bytes = "a", .logprob = -0.5F, .top = {{.token = 3, .bytes = "b"}}}};
  const Json part =
      OllamaResponse(OllamaRoute::kGenerate, "m").part(kTime, {.text = "a", .tokens = &tokens});
  EXPECT_EQ(to_text(*part.find("logprobs")),
            R"([{"token":"a","logprob":-0.5,"top_logprobs":[{"token":"b","logprob":0.0}]}])");
}

TEST(OllamaResponse, a_request_without_a_question_is_answered_at_once) {
  EXPECT_EQ(to_text(OllamaResponse(OllamaRoute::kChat, "m").loaded(kTime, false)),
            R"({"model":"m","created_at":"2026-01-31T12:00:00.000000Z",)"
            R"("message":{"role":"assistant","content":""},"done":true,"done_reason":"load"})");
  EXPECT_EQ(to_text(OllamaResponse(OllamaRoute::kGenerate, "m").loaded(kTime, true)),
            R"({"model":"m","created_at":"2026-01-31T12:00:00.000000Z","response":"",)"
            R"("done":true,"done_reason":"unload"})");
}

TEST(OllamaResponse, arguments_that_were_cut_are_an_object_too) {
  EXPECT_EQ(to_text(ollama_call("f", R"({"a":)")), R"({"function":{"name":"f","arguments":{}}})");
  EXPECT_EQ(to_text(ollama_call("f", "")), R"({"function":{"name":"f","arguments":{}}})");
}

TEST(OllamaResponse, sizes_are_told_as_people_say_them) {
  EXPECT_EQ(parameter_size(8'030'261'248), "8.0B");
  EXPECT_EQ(parameter_size(134'515'008), "134.5M");
  EXPECT_EQ(parameter_size(106'816), "106.8K");
  EXPECT_EQ(parameter_size(12), "12");
}

}  // namespace
}  // namespace plumb
