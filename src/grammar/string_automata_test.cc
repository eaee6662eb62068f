// SPDX-License-Identifier: Apache-2.0
#include "grammar/string_automata.h"

#include <gtest/gtest.h>
#include <set>

#include "grammar/dfa.h"

namespace plumb {
namespace {

Dfa dfa_of(RegexId regex, RegexSet* set) {
  CompileBudget budget;
  Result<Dfa> dfa = Dfa::build(regex, set, &budget);
  PLUMB_CHECK(dfa.ok(), dfa.status().message());
  return std::move(dfa).value();
}

bool automaton_accepts(const Dfa& dfa, std::string_view text) {
  std::int32_t state = dfa.start();
  for (const char c : text) {
    state = state == Dfa::kDead ? state : dfa.next(state, static_cast<std::uint8_t>(c));
  }
  return state != Dfa::kDead && dfa.is_accepting(state);
}

// Every string over the letters of up to so many.
std::vector<std::string> all_texts(std::string_view letters, std::size_t max_len) {
  std::vector<std::string> out{""};
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const char c : out[i].size() < max_len ? letters : std::string_view()) {
      out.push_back(out[i] + c);
    }
  }
  return out;
}

// Where the first occurrence of any of the strings ends; npos if there is none.
std::size_t first_end(std::string_view text, const std::vector<std::string>& strings) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    for (const std::string& s : strings) {
      if (text.substr(0, end).ends_with(s)) {
        return end;
      }
    }
  }
  return std::string::npos;
}

const std::vector<std::vector<std::string>> kStringLists = {
    {"a"}, {"aa"}, {"ab", "ba"}, {"aab"}, {"abab", "bb"}, {"aba", "b"}, {"abc", "bca", "cab"}};

TEST(StringFinder, says_beforehand_how_large_its_automata_get) {
  std::vector<std::vector<std::string>> lists = kStringLists;
  lists.push_back(all_texts("abcdefgh", 3));
  lists.back().erase(lists.back().begin());  // the empty one
  for (const std::vector<std::string>& strings : lists) {
    const StringFinder finder(strings, 0xFE);
    for (const bool is_without : {true, false}) {
      RegexSet set;
      const std::int64_t before = set.size();
      if (is_without) {
        finder.without(&set);
      } else {
        finder.up_to_first(&set);
      }
      EXPECT_LE(set.size() - before, finder.max_size() + 1) << strings[0];
    }
  }
  RegexSet set;
  const std::int64_t before = set.size();
  StringFinder(std::vector<std::string>{std::string(10'000, 'a')}).up_to_first(&set);
  EXPECT_GT(set.size() - before, 10'000);  // a state and its two edges each
}

TEST(StringFinder, tells_texts_without_the_strings_from_texts_up_to_the_first) {
  for (const std::vector<std::string>& strings : kStringLists) {
    RegexSet set;
    const StringFinder finder(strings);
    const Dfa without = dfa_of(finder.without(&set), &set);
    const Dfa up_to_first = dfa_of(finder.up_to_first(&set), &set);
    for (const std::string& text : all_texts("abc", 7)) {
      const std::size_t end = first_end(text, strings);
      EXPECT_EQ(automaton_accepts(without, text), end == std::string::npos)
          << strings[0] << " " << text;
      EXPECT_EQ(automaton_accepts(up_to_first, text), end == text.size())
          << strings[0] << " " << text;
    }
  }
}

TEST(StringFinder, an_ignored_byte_hides_nothing) {
  for (const std::vector<std::string>& strings : kStringLists) {
    RegexSet set;
    const StringFinder finder(strings, '|');
    const Dfa without = dfa_of(finder.without(&set), &set);
    const Dfa up_to_first = dfa_of(finder.up_to_first(&set), &set);
    for (const std::string& text : all_texts("ab|", 7)) {
      std::string plain = text;
      std::erase(plain, '|');
      const std::size_t end = first_end(plain, strings);
      EXPECT_EQ(automaton_accepts(without, text), end == std::string::npos)
          << strings[0] << " " << text;
      EXPECT_EQ(automaton_accepts(up_to_first, text), end == plain.size() && !plain.empty())
          << text;
    }
  }
}

TEST(OneOfTexts, is_the_smallest_automaton_of_the_texts) {
  const std::vector<std::string> texts = {"tap", "taps", "top", "tops", "a", "tap"};
  RegexSet set;
  CompileBudget budget;
  const Result<RegexId> regex = one_of_texts({texts.begin(), texts.end()}, &set, &budget);
  ASSERT_TRUE(regex.ok());
  const Dfa dfa = dfa_of(regex.value(), &set);
  const std::set<std::string> wanted(texts.begin(), texts.end());
  for (const std::string& text : all_texts("taops", 5)) {
    EXPECT_EQ(automaton_accepts(dfa, text), wanted.contains(text)) << text;
  }
  EXPECT_EQ(dfa.num_states(), 5);  // start, t, ta = to, tap = top, the end
}

TEST(OneOfTexts, too_many_states_are_an_error_with_the_limit) {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) {
    texts.push_back(std::to_string(i) + "-" + std::to_string(i * i));
  }
  RegexSet set;
  CompileBudget budget({.max_states = 50}, {});
  EXPECT_EQ(one_of_texts({texts.begin(), texts.end()}, &set, &budget).status().message(),
            "the texts need more than 50 states; send fewer or shorter ones");
}

}  // namespace
}  // namespace plumb
