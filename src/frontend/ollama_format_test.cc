// SPDX-License-Identifier: Apache-2.0
#include "frontend/ollama_format.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace plumb {
namespace {

struct FormatScene {
  explicit FormatScene(OllamaRoute route = OllamaRoute::kChat, bool with_logprobs = false) {
    GenerationParams params;
    params.sampling.logprobs = with_logprobs;
    ResponseEnvelope envelope;
    envelope.model = "m";
    envelope.received = clock.now();
    if (route == OllamaRoute::kGenerate) {
      envelope.prompt_ids = {{5, 6}};
    }
    format = make_ollama_format(route, std::move(envelope), params, clock);
  }

  FakeClock clock;
  std::unique_ptr<ResponseFormat> format;
};

ChoiceEnd ended(FinishReason reason) {
  ChoiceEnd end;
  end.reason = reason;
  return end;
}

ToolCallDelta call(std::int64_t index, const char* name, const char* arguments, bool has_ended) {
  return {.index = index, .id = "i", .name = name, .arguments = arguments, .has_ended = has_ended};
}

TEST(OllamaFormat, is_lines_of_json_without_a_heartbeat) {
  const FormatScene scene;
  EXPECT_EQ(scene.format->framing(), StreamFraming::kJsonLines);
  EXPECT_EQ(scene.format->heartbeat(), "");
  EXPECT_TRUE(scene.format->start(0).empty());
}

TEST(OllamaFormat, thoughts_text_and_calls_have_lines_of_their_own) {
  FormatScene scene;
  ChoiceDelta delta;
  delta.reasoning = "hm";
  delta.text = "a\xE2\x80\xA8";
  delta.calls = {call(0, "f", R"({"x":)", false)};
  std::vector<Json> lines = scene.format->delta(delta);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(to_text(*lines[0].find("message")),
            R"({"role":"assistant","content":"","thinking":"hm"})");
  EXPECT_EQ(to_text(*lines[1].find("message")), R"({"role":"assistant","content":"a\u2028"})");
  ChoiceDelta rest;
  rest.calls = {call(0, "", R"("\u2028"})", true), call(1, "g", "{}", true)};
  lines = scene.format->delta(rest);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(to_text(*lines[0].find("message")->find("tool_calls")),
            R"([{"function":{"name":"f","arguments":{"x":"\u2028"}}}])");
  EXPECT_EQ(to_text(*lines[1].find("message")->find("tool_calls")),
            R"([{"function":{"name":"g","arguments":{}}}])");
  lines = scene.format->end(ended(FinishReason::kToolCalls));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(*lines[0].find("done_reason"), Json("stop"));
  EXPECT_TRUE(scene.format->finish({}).empty());
}

TEST(OllamaFormat, a_context_holds_prompt_and_answer) {
  FormatScene scene(OllamaRoute::kGenerate);
  EXPECT_EQ(scene.format->delta({0, "a", {{.token = 7, .bytes = "a"}}}).size(), 1U);
  EXPECT_TRUE(scene.format->delta({0, "", {{.token = 8}}}).empty());
  EXPECT_EQ(to_text(*scene.format->end(ended(FinishReason::kLength))[0].find("context")),
            "[5,6,7,8]");
}

TEST(OllamaFormat, a_whole_answer_is_one_object) {
  FormatScene scene(OllamaRoute::kChat, true);
  ChoiceRecord choice;
  choice.parts = {{AnswerKind::kReasoning, "hm"},
                  {AnswerKind::kText, "a"},
                  {AnswerKind::kCall, R"({"x":1})", "i", "f", true}};
  choice.tokens = {{.token = 1, .bytes = "hm", .kind = AnswerKind::kReasoning},
                   {.token = 2, .bytes = "a", .logprob = -0.5F}};
  choice.end = ended(FinishReason::kEos);
  const Json whole = scene.format->complete({choice});
  EXPECT_EQ(to_text(*whole.find("message")),
            R"({"role":"assistant","content":"a","thinking":"hm",)"
            R"("tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]})");
  EXPECT_EQ(to_text(*whole.find("logprobs")), R"([{"token":"a","logprob":-0.5}])");
  EXPECT_EQ(*whole.find("created_at"), Json("1970-01-01T01:00:00.000000Z"));
  EXPECT_EQ(*whole.find("done"), Json(true));
}

}  // namespace
}  // namespace plumb
