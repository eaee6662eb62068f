// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/stop_regex.h"

#include <gtest/gtest.h>
#include <random>

#include "tokenizer/stop_matcher.h"

namespace plumb {
namespace {

using Patterns = std::vector<std::string>;

std::shared_ptr<const StopRegex> compiled(const Patterns& patterns) {
  Result<std::shared_ptr<const StopRegex>> regex = StopRegex::compile(patterns);
  EXPECT_TRUE(regex.ok()) << regex.status().message();
  return regex.ok() ? std::move(regex).value() : nullptr;
}

std::string compile_error(const Patterns& patterns) {
  return StopRegex::compile(patterns).status().message();
}

std::string pushed(StopMatcher* matcher, std::string_view text) {
  std::string out;
  matcher->push(text, &out);
  return out;
}

TEST(StopExpressions, hold_back_what_could_become_a_match) {
  StopMatcher matcher({}, compiled({"[0-9]{3}-[0-9]+;"}));
  EXPECT_EQ(pushed(&matcher, "call 55"), "call ");
  EXPECT_EQ(matcher.held(), "55");
  EXPECT_EQ(pushed(&matcher, "5"), "");
  EXPECT_EQ(pushed(&matcher, " no"), "555 no");
  EXPECT_EQ(pushed(&matcher, " 123-4"), " ");
  EXPECT_EQ(pushed(&matcher, "5; more"), "");
  EXPECT_TRUE(matcher.has_matched());
  EXPECT_EQ(matcher.matched_text(), "123-45;");
  EXPECT_EQ(matcher.stop(), "[0-9]{3}-[0-9]+;");
  EXPECT_EQ(pushed(&matcher, "late"), "");
}

TEST(StopExpressions, a_match_that_more_text_could_lengthen_waits_for_it) {
  StopMatcher matcher({}, compiled({"a+"}));
  EXPECT_EQ(pushed(&matcher, "xaa"), "x");
  EXPECT_FALSE(matcher.has_matched());
  EXPECT_EQ(pushed(&matcher, "ab"), "");
  EXPECT_EQ(matcher.matched_text(), "aaa");
}

TEST(StopExpressions, the_end_of_the_text_decides_what_was_open) {
  StopMatcher matcher({}, compiled({"END$"}));
  EXPECT_EQ(pushed(&matcher, "the END"), "the ");
  std::string out;
  EXPECT_TRUE(matcher.flush(&out));
  EXPECT_EQ(out, "");
  EXPECT_EQ(matcher.matched_text(), "END");
  StopMatcher other({}, compiled({"END\\b"}));
  EXPECT_EQ(pushed(&other, "ENDING"), "ENDING");
  EXPECT_FALSE(other.flush(&out));
}

TEST(StopExpressions, anchors_and_look_behind_see_the_text_that_was_released) {
  StopMatcher anchored({}, compiled({"^b"}));
  EXPECT_EQ(pushed(&anchored, "a"), "a");
  EXPECT_EQ(pushed(&anchored, "b"), "b");  // not at the begin
  StopMatcher behind({}, compiled({"(?<=äx)b"}));
  EXPECT_EQ(pushed(&behind, "äx"), "äx");
  EXPECT_EQ(pushed(&behind, "b"), "");
  EXPECT_TRUE(behind.has_matched());
}

TEST(StopExpressions, the_pattern_that_matched_is_named) {
  StopMatcher matcher({}, compiled({"(x)\\1", "(y)\\1"}));
  EXPECT_EQ(pushed(&matcher, "xyxyy."), "xyx");
  EXPECT_EQ(matcher.stop(), "(y)\\1");
  EXPECT_EQ(matcher.matched_text(), "yy");
}

TEST(StopExpressions, what_ends_first_wins_and_a_stop_string_wins_a_tie) {
  StopMatcher first({"end"}, compiled({"[0-9]"}));
  EXPECT_EQ(pushed(&first, "a 1 end"), "a ");
  EXPECT_EQ(first.stop(), "[0-9]");
  StopMatcher second({"end"}, compiled({"[0-9]"}));
  EXPECT_EQ(pushed(&second, "an end 1"), "an ");
  EXPECT_EQ(second.stop(), "end");
  StopMatcher tie({"b"}, compiled({"ab"}));
  EXPECT_EQ(pushed(&tie, "xab"), "xa");
  EXPECT_EQ(tie.stop(), "b");
}

TEST(StopExpressions, an_empty_match_ends_nothing) {
  StopMatcher matcher({}, compiled({"x*"}));
  EXPECT_EQ(pushed(&matcher, "abc"), "abc");
  EXPECT_EQ(pushed(&matcher, "xd"), "");
  EXPECT_EQ(matcher.matched_text(), "x");
}

TEST(StopExpressions, text_that_is_only_part_of_too_long_a_match_is_released) {
  StopMatcher matcher({}, compiled({"<.*>"}));
  EXPECT_EQ(pushed(&matcher, "<"), "");
  std::string out;
  const std::string block(1000, 'a');
  for (int i = 0; i < 10; ++i) {
    matcher.push(block, &out);
  }
  EXPECT_EQ(out.size() + matcher.held().size(), 10'001U);
  EXPECT_LE(matcher.held().size(), StopRegex::kMaxMatchBytes);
  EXPECT_EQ(pushed(&matcher, "<b>\n"), "");
  EXPECT_EQ(matcher.matched_text(), "<b>");
}

TEST(StopExpressions, a_search_without_end_is_given_up_with_an_error) {
  StopMatcher matcher({}, compiled({"(a+)+b"}));
  pushed(&matcher, std::string(64, 'a') + "c");
  EXPECT_EQ(matcher.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(matcher.status().message(),
            "stop_regex takes more than 20000 steps at one place on the generated text; use a "
            "pattern that backtracks less");
}

TEST(StopExpressions, searches_that_stay_under_the_limit_of_one_place_are_given_up_together) {
  // 16 alternatives backtrack through the square of the text from each of its 4,000 places.
  Patterns patterns;
  for (int i = 0; i < 16; ++i) {
    patterns.push_back("(?:[^Z]{0,30}){2}Z" + std::to_string(i));
  }
  StopMatcher matcher({}, compiled(patterns));
  std::string out;
  for (int i = 0; i < 1000 && matcher.status().ok(); ++i) {
    matcher.push(std::string(4000, 'a') + "Z", &out);
  }
  EXPECT_EQ(matcher.status().message(),
            "stop_regex takes more than 20 ms in all on the generated text; use a pattern that "
            "backtracks less");
}

TEST(StopExpressions, of_sensible_patterns_are_searched_as_long_as_the_text_grows) {
  StopMatcher matcher({}, compiled({"\n(?:User|Human):", "<tool>.*?</tool>", "[0-9]+ items?\\b"}));
  for (int i = 0; i < 20'000; ++i) {
    pushed(&matcher, i % 7 == 0 ? "\nUse it, 12 item" : " <b>word</b>");
  }
  EXPECT_TRUE(matcher.status().ok());
  pushed(&matcher, "\nUser:");
  EXPECT_TRUE(matcher.has_matched());
}

TEST(StopExpressions, patterns_are_checked) {
  EXPECT_EQ(compile_error({"("}),
            "stop_regex is no pattern: missing closing parenthesis at byte 1");
  EXPECT_EQ(compile_error({std::string(1025, 'a')}),
            "stop_regex has 1025 bytes, expected 1 to 1024");
  EXPECT_EQ(compile_error({""}), "stop_regex has 0 bytes, expected 1 to 1024");
  EXPECT_EQ(compile_error(Patterns(17, "a")), "stop_regex has 17 patterns, expected 1 to 16");
  EXPECT_EQ(compile_error({"(*LIMIT_MATCH=9)a"}), "stop_regex holds '(*', which is not offered");
  EXPECT_EQ(compile_error({"a(?C1)"}), "stop_regex holds '(?C', which is not offered");
  EXPECT_EQ(compile_error({"\xff"}), "stop_regex is not valid UTF-8");
  EXPECT_EQ(compile_error({"(?<=" + std::string(65, 'a') + ")b"}),
            "stop_regex looks back 65 characters, expected at most 64");
  EXPECT_FALSE(StopRegex::compile({"((((a{1000}){1000}){1000}){1000})"}).ok());
  EXPECT_FALSE(StopRegex::compile({"\\C"}).ok());
}

// The text before the leftmost match in the whole of it, found in one search.
std::string cut_at_match(const std::string& text, const StopRegex& regex) {
  StopRegexSearch search(regex);
  const StopRegexSearch::Found found = search.find(text, 0, true).value();
  return found.kind == StopRegexSearch::Found::Kind::kMatch ? text.substr(0, found.begin) : text;
}

TEST(StopExpressions, equal_a_search_in_the_whole_text_however_it_is_cut) {
  std::mt19937 random(11);
  const Patterns parts{"a",          "b",    "ab",      "[ab]c",  "a+",     "b*c",
                       "(?:ab|ba)+", "c{2}", "a.b",     "^c",     "b$",     "\\bc",
                       "(a|b)\\1",   "c?a",  "(?<=a)b", "a(?=b)", "(?!a)c", "a{1,3}?c"};
  for (int round = 0; round < 2000; ++round) {
    Patterns patterns;
    for (unsigned i = 0; i < 1 + random() % 2; ++i) {
      patterns.push_back(parts[random() % parts.size()] + parts[random() % parts.size()]);
    }
    const auto regex = compiled(patterns);
    std::string text(random() % 16, 'a');
    for (char& c : text) {
      c = "abc "[random() % 4];
    }
    StopMatcher matcher({}, regex);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t len = 1 + random() % 4;
      matcher.push(std::string_view(text).substr(at, len), &out);
      at += len;
    }
    matcher.flush(&out);
    ASSERT_EQ(out, cut_at_match(text, *regex)) << text << " " << patterns.front();
  }
}

}  // namespace
}  // namespace plumb
