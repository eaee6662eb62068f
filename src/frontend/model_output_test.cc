// SPDX-License-Identifier: Apache-2.0
#include "frontend/model_output.h"

#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"

namespace plumb {
namespace {

std::vector<TokenId> bytes_of(std::string_view text) {
  std::vector<TokenId> out;
  for (const char c : text) {
    out.push_back(static_cast<unsigned char>(c));
  }
  return out;
}

ChatRequest request_with_tool(ToolChoice::Mode mode) {
  ChatRequest request;
  request.tool_use.tools = {{"f", "", no_parameters(), false}};
  request.tool_use.choice.mode = mode;
  return request;
}

TEST(ModelOutputs, names_of_formats_are_checked_and_listed) {
  EXPECT_TRUE(check_parsers({}).empty());
  EXPECT_TRUE(check_parsers({"hermes", "none"}).empty());
  const std::vector<Status> wrong = check_parsers({"hermit", "thinking"});
  ASSERT_EQ(wrong.size(), 2U);
  EXPECT_EQ(wrong[1].message(),
            "--reasoning-parser: 'thinking' is no format, expected one of auto, none, harmony, "
            "gemma4, mistral, think");
  EXPECT_NE(wrong[0].message().find("qwen3_coder, hermes"), std::string::npos);
}

TEST(ModelOutputs, the_help_lists_every_format) {
  const auto fields = ParserOptions::fields();
  const std::string_view tools = std::get<0>(fields).help;
  for (const ToolFormat& format : tool_formats()) {
    EXPECT_NE(tools.find(format.name), std::string::npos) << format.name;
  }
  const std::string_view reasoning = std::get<1>(fields).help;
  for (const ReasoningFormat& format : reasoning_formats()) {
    EXPECT_NE(reasoning.find(format.name), std::string::npos) << format.name;
  }
}

TEST(ModelOutputs, control_tokens_are_marks_and_words_are_text) {
  const std::unique_ptr<Tokenizer> tokenizer =
      make_byte_tokenizer({"[TOOL_CALLS]", "[ARGS]"}, {"<think>", "</think>"});
  const ModelOutput output({}, "{{ '[TOOL_CALLS]' }}<think>", *tokenizer);
  EXPECT_EQ(output.tools()->name, "mistral_v11");
  EXPECT_EQ(output.reasoning()->name, "think");
  ChatRequest request = request_with_tool(ToolChoice::Mode::kAuto);
  const OutputOptions options = output.options_for(request, ReasoningStart::kOpen);
  EXPECT_EQ(options.format.marks.texts(), (std::vector<std::string>{"[TOOL_CALLS]", "[ARGS]"}));
  EXPECT_EQ(options.mark_tokens, (std::vector<TokenId>{257, 258}));
  request.tool_use.choice.mode = ToolChoice::Mode::kNone;
  EXPECT_EQ(output.options_for(request, ReasoningStart::kOpen).format.tools, nullptr);
  request.reasoning.separate = false;
  EXPECT_EQ(output.options_for(request, ReasoningStart::kOpen).format.reasoning, nullptr);
}

TEST(ModelOutputs, the_prompt_says_whether_the_model_reasons_already) {
  const std::unique_ptr<Tokenizer> words = make_byte_tokenizer({}, {"<think>", "</think>"});
  const ModelOutput with_tokens({"auto", "think"}, "", *words);
  std::vector<TokenId> prompt = bytes_of("x");
  EXPECT_EQ(with_tokens.start_of(prompt), ReasoningStart::kOpen);
  prompt.push_back(257);
  prompt.push_back('\n');
  EXPECT_EQ(with_tokens.start_of(prompt), ReasoningStart::kInside);
  prompt.push_back(258);
  EXPECT_EQ(with_tokens.start_of(prompt), ReasoningStart::kClosed);
  prompt.push_back(256);  // the end of a turn: what came before it is over
  EXPECT_EQ(with_tokens.start_of(prompt), ReasoningStart::kOpen);
  const std::unique_ptr<Tokenizer> plain = make_byte_tokenizer();
  const ModelOutput with_text({"auto", "think"}, "", *plain);
  EXPECT_EQ(with_text.start_of(bytes_of("a <think>\n")), ReasoningStart::kInside);
  EXPECT_EQ(with_text.start_of(bytes_of("<think>\n\n</think>\n\n")), ReasoningStart::kClosed);
  EXPECT_EQ(with_text.start_of(bytes_of("<think> a")), ReasoningStart::kOpen);
}

TEST(ModelOutputs,
     tools_of_a_model_whose_calls_nobody_can_read_are_refused_unless_calls_are_required) {
  const std::unique_ptr<Tokenizer> tokenizer = make_byte_tokenizer();
  const ModelOutput output({}, "", *tokenizer);
  ChatRequest request = request_with_tool(ToolChoice::Mode::kAuto);
  EXPECT_EQ(output.check(request.tool_use)->param, "tools");
  EXPECT_NE(output.check(request.tool_use)->message.find("--tool-call-parser"), std::string::npos);
  request.tool_use.choice.mode = ToolChoice::Mode::kRequired;
  EXPECT_FALSE(output.check(request.tool_use).has_value());
  EXPECT_EQ(output.options_for(request, ReasoningStart::kOpen).format.tools->name, "json");
  const ModelOutput off({"none", "none"}, "<tool_call>", *tokenizer);
  EXPECT_TRUE(off.check(request.tool_use).has_value());
  request.tool_use.choice.mode = ToolChoice::Mode::kAuto;
  EXPECT_FALSE(off.check(request.tool_use).has_value());
  EXPECT_EQ(off.options_for(request, ReasoningStart::kOpen).format.tools, nullptr);
  EXPECT_FALSE(output.check({}).has_value());
}

}  // namespace
}  // namespace plumb
