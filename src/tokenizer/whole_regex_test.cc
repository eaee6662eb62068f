// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/whole_regex.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

Status check(const std::string& pattern, std::string_view text) {
  const auto regex = WholeRegex::compile(pattern);
  return regex.ok() ? regex.value()->check(text) : regex.status();
}

TEST(WholeRegex, decides_look_around_and_back_references) {
  EXPECT_TRUE(check(R"((?!rm )[a-z ]+)", "ls x").ok());
  EXPECT_FALSE(check(R"((?!rm )[a-z ]+)", "rm x").ok());
  EXPECT_TRUE(check(R"((['"])[a-z]*\1)", "'abc'").ok());
  EXPECT_FALSE(check(R"((['"])[a-z]*\1)", "'abc\"").ok());
  EXPECT_TRUE(check(R"((?<=)a(?=b)b)", "ab").ok());
}

TEST(WholeRegex, takes_the_whole_text) {
  EXPECT_TRUE(check("a|ab", "ab").ok());
  EXPECT_EQ(check("ab", "abc").message(), "only its first 2 of 3 bytes match");
  EXPECT_EQ(check("ab", "xab").message(), "no part of it from offset 0 matches");
  EXPECT_FALSE(check("a$", "a\n").ok());
  EXPECT_TRUE(check(R"(\u00e9+)", "éé").ok());
  EXPECT_FALSE(check(R"(\d)", "٣").ok());
}

TEST(WholeRegex, names_what_is_no_pattern) {
  const auto message = [](const std::string& pattern) {
    return WholeRegex::compile(pattern).status();
  };
  EXPECT_EQ(message("a(b").code(), Code::kInvalidArgument);
  EXPECT_NE(message("a(b").message().find("at offset 3"), std::string::npos);
  EXPECT_EQ(message("a(*ACCEPT)").code(), Code::kUnsupported);
  EXPECT_EQ(message("a(*ACCEPT)").message(), "regex: '(*' is not supported at offset 1");
  EXPECT_EQ(message(R"(\C)").code(), Code::kInvalidArgument);
  EXPECT_EQ(message(std::string(WholeRegex::kMaxPatternBytes + 1, 'a')).code(),
            Code::kInvalidArgument);
}

TEST(WholeRegex, ends_what_backtracks_without_end) {
  EXPECT_EQ(check("(?=a)(a+)+[bc]", std::string(64, 'a')).code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace plumb
