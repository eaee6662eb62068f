// SPDX-License-Identifier: Apache-2.0
#include "grammar/text_check.h"

#include <gtest/gtest.h>
#include <string>

namespace plumb {
namespace {

std::unique_ptr<const TextCheck> lark(std::string_view text) {
  CompileBudget budget;
  auto check = TextCheck::of_lark(text, &budget);
  EXPECT_TRUE(check.ok()) << check.status().message();
  return std::move(check).value();
}

TEST(TextCheck, tells_where_a_text_leaves_its_grammar) {
  const auto check = lark("start: (\"ab\" LF)+\n%import common.LF");
  EXPECT_TRUE(check->check("ab\nab\n").ok());
  EXPECT_EQ(check->check("ab\naé\n").message(), "line 2, column 2: 'é' may not stand here");
  EXPECT_EQ(check->check("ab\nab").message(), "line 2, column 3: the text ends too early");
  EXPECT_EQ(check->check("").message(), "line 1, column 1: the text ends too early");
  EXPECT_EQ(check->check("ab\n\n").message(), "line 2, column 1: the line end may not stand here");
  EXPECT_EQ(check->check("a\xC3").code(), Code::kInvalidArgument);
}

TEST(TextCheck, follows_what_recurs) {
  const auto check = lark("start: \"(\" start \")\" | \"x\"");
  EXPECT_TRUE(check->check("((x))").ok());
  EXPECT_EQ(check->check("((x)))").message(), "line 1, column 6: ')' may not stand here");
  EXPECT_TRUE(check->check(std::string(1000, '(') + "x" + std::string(1000, ')')).ok());
}

TEST(TextCheck, takes_a_regex_as_a_whole) {
  CompileBudget budget;
  const auto check = TextCheck::of_regex("ls|pwd", &budget);
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check.value()->check("pwd").ok());
  EXPECT_EQ(check.value()->check("ls ").message(), "line 1, column 3: ' ' may not stand here");
  EXPECT_EQ(TextCheck::of_regex("(?=a)a", &budget).status().code(), Code::kUnsupported);
  EXPECT_EQ(TextCheck::of_lark("start: /[^\\s\\S]/", &budget).status().code(),
            Code::kInvalidArgument);
}

TEST(TextCheck, a_long_text_in_one_place_is_cheap) {
  const auto check = lark("start: (\"+\" /.*/ LF)+\n%import common.LF");
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "+some words of a line\n";
  }
  EXPECT_TRUE(check->check(text).ok());
}

TEST(TextCheck, gives_up_on_too_many_readings) {
  const auto check = lark("start: a\na: a a | a a a | \"x\" | \"xx\"");
  EXPECT_NE(check->check(std::string(3000, 'x')).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
