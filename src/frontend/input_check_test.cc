// SPDX-License-Identifier: Apache-2.0
#include "frontend/input_check.h"

#include <gtest/gtest.h>
#include <string>

namespace plumb {
namespace {

using Syntax = InputFormat::Syntax;

ToolUse use_of(Syntax syntax, const std::string& definition) {
  Tool tool;
  tool.name = "shell";
  tool.is_custom = true;
  tool.input = InputFormat{syntax, definition, "tools[0].format.definition"};
  ToolUse use;
  use.tools.push_back(tool);
  return use;
}

std::vector<CheckedInput> checks(Syntax syntax, const std::string& definition) {
  auto made = compile_input_checks(use_of(syntax, definition));
  const auto* error = std::get_if<ApiError>(&made);
  EXPECT_EQ(error, nullptr) << error->message;
  return error == nullptr ? std::get<0>(std::move(made)) : std::vector<CheckedInput>();
}

ApiError error_of(Syntax syntax, const std::string& definition) {
  auto made = compile_input_checks(use_of(syntax, definition));
  EXPECT_TRUE(std::holds_alternative<ApiError>(made)) << definition;
  return std::holds_alternative<ApiError>(made) ? std::get<ApiError>(made) : ApiError();
}

TEST(InputCheck, an_input_that_does_not_match_is_an_error_with_its_place) {
  const auto regex = checks(Syntax::kRegex, "ls|pwd");
  ASSERT_EQ(regex.size(), 1U);
  EXPECT_TRUE(regex[0].check->is_regular());
  EXPECT_FALSE(regex[0].check->check("shell", "pwd").has_value());
  const auto error = regex[0].check->check("shell", "pwx");
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->http_status, 400);
  EXPECT_EQ(error->code, "custom_tool_input_invalid");
  EXPECT_EQ(error->param, "tools[0].format.definition");
  EXPECT_EQ(
      error->message,
      "the model's input for the custom tool 'shell' does not match its regex format: line 1, "
      "column 3: 'x' may not stand here");
  const auto lark = checks(Syntax::kLark, "start: /.+/ LF\n%import common.LF");
  EXPECT_FALSE(lark[0].check->check("shell", "a b\n").has_value());
  EXPECT_EQ(lark[0].check->check("shell", "a b")->message,
            "the model's input for the custom tool 'shell' does not match its lark format: line 1, "
            "column 4: the text ends too early");
}

TEST(InputCheck, what_no_automaton_decides_is_checked_by_search) {
  const auto free = checks(Syntax::kRegex, R"((?!rm )[a-z ]+(['"]?)x\1)");
  EXPECT_FALSE(free[0].check->is_regular());
  EXPECT_FALSE(free[0].check->check("shell", "ls 'x'").has_value());
  EXPECT_TRUE(free[0].check->check("shell", "rm 'x'").has_value());
  EXPECT_EQ(free[0].check->check("shell", "ls 'x")->code, "custom_tool_input_invalid");
}

TEST(InputCheck, a_format_that_cannot_be_checked_is_refused_with_its_place) {
  const ApiError lark = error_of(Syntax::kLark, "start: \"a\"\n  /b(?=c)/");
  EXPECT_EQ(lark.http_status, 400);
  EXPECT_EQ(lark.code, "invalid_schema");
  EXPECT_EQ(lark.param, "tools[0].format.definition");
  EXPECT_EQ(
      lark.message,
      "'tools[0].format.definition' of the custom tool 'shell': lark: line 2, column 5: regex: "
      "look-ahead is not supported");
  EXPECT_NE(error_of(Syntax::kLark, "start: nothing").message.find("line 1, column 8"),
            std::string::npos);
  EXPECT_NE(error_of(Syntax::kRegex, "a(b").message.find("at offset 1"), std::string::npos);
  EXPECT_NE(error_of(Syntax::kRegex, "(?=a").message.find("at offset 4"), std::string::npos);
}

TEST(InputCheck, only_tools_that_may_be_called_count) {
  ToolUse use = use_of(Syntax::kLark, "start:");
  use.choice.mode = ToolChoice::Mode::kNone;
  EXPECT_TRUE(std::get<0>(compile_input_checks(use)).empty());
  use.choice = {ToolChoice::Mode::kAuto, false, {"other"}};
  EXPECT_TRUE(std::get<0>(compile_input_checks(use)).empty());
}

}  // namespace
}  // namespace plumb
