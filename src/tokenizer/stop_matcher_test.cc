// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/stop_matcher.h"

#include <gtest/gtest.h>
#include <random>

namespace plumb {
namespace {

struct Outcome {
  std::string text;
  bool stopped;
};

Outcome push(StopMatcher* matcher, std::string_view text) {
  Outcome outcome{"", false};
  outcome.stopped = matcher->push(text, &outcome.text);
  return outcome;
}

TEST(StopMatcher, holds_back_exactly_what_could_become_a_stop_string) {
  StopMatcher matcher({"</s>", "END"});
  EXPECT_EQ(push(&matcher, "abcEN").text, "abc");
  EXPECT_EQ(matcher.held(), "EN");
  EXPECT_EQ(push(&matcher, "X").text, "ENX");
  EXPECT_EQ(matcher.held(), "");
}

TEST(StopMatcher, a_stop_string_over_two_pushes_is_cut_at_its_start) {
  StopMatcher matcher({"</s>", "END"});
  EXPECT_EQ(push(&matcher, "abcEN").text, "abc");
  const Outcome outcome = push(&matcher, "D and more");
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.text, "");
  EXPECT_EQ(matcher.stop(), "END");
}

TEST(StopMatcher, text_after_a_stop_string_inside_one_push_is_dropped) {
  StopMatcher matcher({"</s>", "END"});
  const Outcome outcome = push(&matcher, "one</s>two");
  EXPECT_TRUE(outcome.stopped);
  EXPECT_EQ(outcome.text, "one");
  EXPECT_EQ(matcher.stop(), "</s>");
  EXPECT_EQ(matcher.matched_text(), "</s>");
  EXPECT_EQ(push(&matcher, "three").text, "");
}

TEST(StopMatcher, the_longest_of_those_that_end_together_wins) {
  StopMatcher matcher({"b", "aab"});
  EXPECT_EQ(push(&matcher, "xaab").text, "x");
  EXPECT_EQ(matcher.stop(), "aab");
}

TEST(StopMatcher, the_one_that_ends_first_wins_over_one_that_began_first) {
  StopMatcher matcher({"abcd", "bc"});
  EXPECT_EQ(push(&matcher, "zabcd").text, "za");
  EXPECT_EQ(matcher.stop(), "bc");
}

TEST(StopMatcher, flush_releases_held_text) {
  StopMatcher matcher({"END"});
  std::string out;
  EXPECT_FALSE(matcher.push("the EN", &out));
  matcher.flush(&out);
  EXPECT_EQ(out, "the EN");
}

TEST(StopMatcher, without_stop_strings_everything_passes) {
  StopMatcher matcher({"", ""});
  EXPECT_EQ(push(&matcher, "anything").text, "anything");
}

// Reference: the stop string that ends first, of those the longest, found by search.
std::string cut_by_search(const std::string& text, const std::vector<std::string>& stops) {
  std::size_t best_end = std::string::npos;
  std::size_t best_begin = text.size();
  for (const std::string& stop : stops) {
    const std::size_t at = text.find(stop);
    if (at == std::string::npos) {
      continue;
    }
    const std::size_t end = at + stop.size();
    if (best_end == std::string::npos || end < best_end || (end == best_end && at < best_begin)) {
      best_end = end;
      best_begin = at;
    }
  }
  return text.substr(0, best_begin);
}

TEST(StopMatcher, equals_a_search_in_the_whole_text_however_it_is_cut) {
  std::mt19937 random(7);
  const auto letters = [&](std::size_t max_len, std::size_t min_len) {
    std::string text(min_len + random() % (max_len - min_len + 1), 'a');
    for (char& c : text) {
      c = static_cast<char>('a' + random() % 3);
    }
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) {
      stops.push_back(letters(5, 1));
    }
    const std::string text = letters(20, 0);
    StopMatcher matcher(stops);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t len = 1 + random() % 4;
      matcher.push(std::string_view(text).substr(at, len), &out);
      at += len;
    }
    if (!matcher.has_matched()) {
      matcher.flush(&out);
    }
    ASSERT_EQ(out, cut_by_search(text, stops)) << text;
  }
}

}  // namespace
}  // namespace plumb
