// SPDX-License-Identifier: Apache-2.0
#include "grammar/regex_parser.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace plumb {
namespace {

bool pattern_matches(std::string_view pattern, std::string_view text, bool anchored = true) {
  RegexSet set;
  RegexParseOptions options;
  options.anchored = anchored;
  const Result<RegexId> regex = parse_regex(pattern, options, &set);
  EXPECT_TRUE(regex.ok()) << regex.status().message();
  if (!regex.ok()) {
    return false;
  }
  RegexId rest = regex.value();
  for (const char c : text) {
    rest = set.derivative(rest, static_cast<std::uint8_t>(c));
  }
  return set.is_nullable(rest);
}

Status pattern_error(std::string_view pattern, const RegexParseOptions& options = {}) {
  RegexSet set;
  return parse_regex(pattern, options, &set).status();
}

TEST(RegexParser, matches_the_whole_text_when_anchored) {
  EXPECT_TRUE(pattern_matches("ab+c?", "abb"));
  EXPECT_FALSE(pattern_matches("ab+c?", "xabb"));
  EXPECT_FALSE(pattern_matches("ab+c?", "abbx"));
  EXPECT_TRUE(pattern_matches("^ab+c?$", "abb"));
  EXPECT_FALSE(pattern_matches("a$b", "ab"));
  EXPECT_TRUE(pattern_matches("a|bc", "bc"));
  EXPECT_FALSE(pattern_matches("a|bc", "ac"));
  EXPECT_TRUE(pattern_matches("", ""));
}

TEST(RegexParser, searches_when_it_is_not_anchored) {
  EXPECT_TRUE(pattern_matches("b+", "abbc", false));
  EXPECT_FALSE(pattern_matches("^b", "ab", false));
  EXPECT_TRUE(pattern_matches("^a", "ab", false));
  EXPECT_TRUE(pattern_matches("b$", "ab", false));
  EXPECT_FALSE(pattern_matches("a$", "ab", false));
  EXPECT_TRUE(pattern_matches("^a|b$", "xb", false));
  EXPECT_FALSE(pattern_matches("^a|b$", "xa", false));
  EXPECT_TRUE(pattern_matches("(^|-)a(-|$)", "x-a", false));
  EXPECT_FALSE(pattern_matches("(^|-)a(-|$)", "xa-", false));
  EXPECT_TRUE(pattern_matches("^$", "", false));
  EXPECT_FALSE(pattern_matches("^$", "a", false));
  EXPECT_TRUE(pattern_matches("(^a){1,2}", "ab", false));
  EXPECT_FALSE(pattern_matches("(^a){2}", "aa", false));
  EXPECT_TRUE(pattern_matches("(^|a){3}b", "aab", false));
}

TEST(RegexParser, classes_and_escapes_have_their_ecmascript_meaning) {
  EXPECT_TRUE(pattern_matches(R"(\d\w\s)", "5_\xC2\xA0"));
  EXPECT_FALSE(pattern_matches(R"(\d)", "\xD9\xA3"));  // an Arabic digit
  EXPECT_TRUE(pattern_matches(R"([^\d\-x]+)", "ab\xE2\x82\xAC"));
  EXPECT_FALSE(pattern_matches(R"([^\d\-x]+)", "a-"));
  EXPECT_TRUE(
      pattern_matches(R"([\x41-\u0043\u{44}\cA\0\b]+)", std::string("ABCD\x01\x00\x08", 7)));
  EXPECT_TRUE(pattern_matches(R"(\uD83D\uDE00)", "\xF0\x9F\x98\x80"));
  EXPECT_TRUE(pattern_matches(R"(\/\.\-\$\t)", "/.-$\t"));
  EXPECT_FALSE(pattern_matches(".", "\n"));
  EXPECT_FALSE(pattern_matches(".", "\xE2\x80\xA8"));
  EXPECT_TRUE(pattern_matches("(?s).", "\n"));
  EXPECT_FALSE(pattern_matches(".", "\xC3"));
  EXPECT_TRUE(pattern_matches(R"(\p{Lu}\p{Letter}\p{gc=Nd}\P{L}\pL)",
                              "\xC3\x84\xCE\xB1\xD9\xA3"
                              "1z"));
  EXPECT_TRUE(pattern_matches(R"([\p{L}_]+)", "\xC3\xA4_\xE4\xB8\xAD"));
}

TEST(RegexParser, flags_hold_to_the_end_of_their_group) {
  EXPECT_TRUE(pattern_matches("a(?i)b(c)", "aBC"));
  EXPECT_FALSE(pattern_matches("a(?i)b", "Ab"));
  EXPECT_TRUE(pattern_matches("(?i:a)b", "Ab"));
  EXPECT_FALSE(pattern_matches("(?i:a)b", "AB"));
  EXPECT_TRUE(pattern_matches("(?i)\xC3\xA9[x-z]", "\xC3\x89Y"));
  EXPECT_TRUE(pattern_matches("(?i)a(?-i:b)", "Ab"));
  EXPECT_FALSE(pattern_matches("(?i)a(?-i:b)", "aB"));
}

TEST(RegexParser, quantifiers_count_and_lazy_ones_change_no_language) {
  EXPECT_TRUE(pattern_matches("a{2,3}?b*?c+?", "aac"));
  EXPECT_FALSE(pattern_matches("a{2,3}", "aaaa"));
  EXPECT_TRUE(pattern_matches("a{2,}", "aaaaa"));
  EXPECT_TRUE(pattern_matches("(?:ab){3}", "ababab"));
  EXPECT_TRUE(pattern_matches("x{1", "x{1"));
  EXPECT_TRUE(pattern_matches("{x}", "{x}"));
  EXPECT_TRUE(pattern_matches("(?<first>a)(?P<second>b)", "ab"));
}

TEST(RegexParser, names_what_is_no_regular_language_with_its_offset) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"a(?=b)", "regex: look-ahead is not supported at offset 1"},
      {"a(?!b)", "regex: look-ahead is not supported at offset 1"},
      {"(?<=a)", "regex: look-behind is not supported at offset 0"},
      {"(?<!a)", "regex: look-behind is not supported at offset 0"},
      {R"((a)\1)", "regex: back-reference is not supported at offset 3"},
      {R"((?<n>a)\k<n>)", "regex: back-reference is not supported at offset 7"},
      {"(?P=n)", "regex: back-reference is not supported at offset 0"},
      {R"(a\b)", "regex: word boundary \\b is not supported at offset 1"},
      {"(?>a)", "regex: atomic group is not supported at offset 0"},
      {"a*+", "regex: possessive quantifier is not supported at offset 2"},
      {"(?m)a", "regex: flag m is not supported at offset 2"},
      {R"(\p{Script=Greek})", "regex: property \\p{Script=Greek} is not supported at offset 0"},
      {"[[:alpha:]]", "regex: POSIX class is not supported at offset 1"},
  };
  for (const auto& [pattern, message] : cases) {
    EXPECT_EQ(pattern_error(pattern), Status(Code::kUnsupported, std::string(message))) << pattern;
  }
}

TEST(RegexParser, refuses_malformed_patterns) {
  for (const std::string_view pattern :
       {"(",         ")",     "(a",   "a)",     "[",     "[a",      "[]a]",          "[b-a]",
        R"([\d-a])", "*",     "a**",  "a{2,1}", "\\",    R"(\xZ1)", R"(\u{110000})", R"(\q)",
        "(?<a",      "a{,3}", "\xFF", "(?<>a)", R"(\c1)"}) {
    EXPECT_EQ(pattern_error(pattern).code(), Code::kInvalidArgument) << pattern;
  }
  EXPECT_EQ(pattern_error("a{1000001}").message(),
            "regex: count 1000001 exceeds the limit 1000000 at offset 2");
}

TEST(RegexParser, bounds_length_depth_and_expressions) {
  RegexParseOptions options;
  options.max_pattern_bytes = 4;
  EXPECT_EQ(pattern_error("aaaaa", options).code(), Code::kInvalidArgument);
  EXPECT_TRUE(pattern_error(std::string(64, '(') + std::string(64, ')')).ok());
  EXPECT_EQ(pattern_error(std::string(65, '(') + std::string(65, ')')).message(),
            "regex: groups nest deeper than 64 at offset 65");
  options = {};
  options.max_expressions = 1000;
  std::string pattern;
  for (int i = 0; i < 300; ++i) {
    pattern += "\\p{L}" + std::to_string(i);
  }
  EXPECT_EQ(pattern_error(pattern, options).code(), Code::kResourceExhausted);
}

// Quadratic work would be 3 * 10^10 steps here.
TEST(RegexParser, reads_a_long_text_in_linear_time) {
  std::string text;
  for (unsigned i = 0; text.size() < 240'000; ++i) {
    text += static_cast<char>('a' + i * i % 26);
  }
  EXPECT_TRUE(pattern_matches(text, text));
  EXPECT_FALSE(pattern_matches(text, text + "a"));
}

}  // namespace
}  // namespace plumb
