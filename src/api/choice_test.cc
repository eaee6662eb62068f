// SPDX-License-Identifier: Apache-2.0
#include "api/choice.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

ChoiceDelta text(const std::string& text) {
  return {.index = 0, .text = text, .tokens = {}};
}

ChoiceDelta reasoning(const std::string& text) {
  return {.index = 0, .text = "", .tokens = {}, .reasoning = text};
}

ChoiceDelta call(ToolCallDelta call) {
  ChoiceDelta delta;
  delta.calls.push_back(std::move(call));
  return delta;
}

TEST(Choices, a_delta_takes_what_keeps_its_order_and_nothing_else) {
  ChoiceDelta delta = reasoning("a");
  ChoiceDelta more = reasoning("b");
  EXPECT_TRUE(merge_delta(&delta, &more));
  more = text("c");
  more.tokens.push_back({.token = 7, .bytes = "c"});
  EXPECT_TRUE(merge_delta(&delta, &more));
  more = reasoning("late");
  EXPECT_FALSE(merge_delta(&delta, &more));
  more = call({.index = 0, .id = "x", .name = "f"});
  EXPECT_TRUE(merge_delta(&delta, &more));
  more = call({.index = 0, .arguments = "{", .has_ended = false});
  EXPECT_TRUE(merge_delta(&delta, &more));
  more = call({.index = 0, .arguments = "}", .has_ended = true});
  EXPECT_TRUE(merge_delta(&delta, &more));
  more = call({.index = 1, .id = "y", .name = "g"});
  EXPECT_TRUE(merge_delta(&delta, &more));
  more = text("late");
  EXPECT_FALSE(merge_delta(&delta, &more));
  EXPECT_EQ(delta.reasoning, "ab");
  EXPECT_EQ(delta.text, "c");
  EXPECT_EQ(delta.tokens.size(), 1U);
  ASSERT_EQ(delta.calls.size(), 2U);
  EXPECT_EQ(delta.calls[0].arguments, "{}");
  EXPECT_TRUE(delta.calls[0].has_ended);
  EXPECT_EQ(delta.calls[1].name, "g");
}

TEST(Choices, the_parts_of_an_answer_keep_the_order_in_which_they_came) {
  std::vector<AnswerPart> parts;
  append_delta(reasoning("r"), &parts);
  append_delta(text("a"), &parts);
  append_delta(text("b"), &parts);
  append_delta(call({.index = 0, .id = "x", .name = "f", .arguments = "{"}), &parts);
  append_delta(call({.index = 0, .arguments = "}", .has_ended = true}), &parts);
  append_delta(text("c"), &parts);
  append_delta(call({.index = 1, .id = "y", .name = "g", .arguments = "{}", .has_ended = true}),
               &parts);
  EXPECT_EQ(parts, (std::vector<AnswerPart>{{AnswerKind::kReasoning, "r"},
                                            {AnswerKind::kText, "ab"},
                                            {AnswerKind::kCall, "{}", "x", "f", true},
                                            {AnswerKind::kText, "c"},
                                            {AnswerKind::kCall, "{}", "y", "g", true}}));
  EXPECT_EQ(text_of(parts), "abc");
  EXPECT_EQ(text_of(parts, AnswerKind::kReasoning), "r");
}

TEST(Choices, reasoning_tokens_are_part_of_the_usage) {
  const ChoiceEnd end{.index = 0, .usage = {5, 9, 2, 4}};
  const ChoiceEnd other{.index = 1, .usage = {5, 9, 2, 4}};
  EXPECT_EQ(
      to_text(usage_to_json(sum_usage({end, other}, 2))),
      R"({"prompt_tokens":5,"completion_tokens":18,"total_tokens":23,)"
      R"("prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":)"
      R"({"reasoning_tokens":8,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}})");
  EXPECT_EQ(finish_reason_text(FinishReason::kToolCalls), "tool_calls");
}

}  // namespace
}  // namespace plumb
