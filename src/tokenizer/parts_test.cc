// SPDX-License-Identifier: Apache-2.0
// The parts below the tokenizer: merging, searching, patterns, normal forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

#include "tokenizer/aho_corasick.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/regex_dialect.h"
#include "tokenizer/symbol_merge.h"
#include "tokenizer/unicode.h"
#include "tokenizer/word_cutter.h"

namespace plumb {
namespace {

using testing::ElementsAre;

using Pairs = std::map<std::pair<std::int32_t, std::int32_t>, Merge>;

// The rule word for word: lowest rank, leftmost on ties, until none is left.
std::vector<std::int32_t> merge_by_rule(std::vector<std::int32_t> ids, const Pairs& pairs) {
  while (true) {
    Merge best;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = pairs.find({ids[i], ids[i + 1]});
      if (found != pairs.end() && found->second.rank < best.rank) {
        best = found->second;
        at = i;
      }
    }
    if (best.rank == Merge::kNoRank) {
      return ids;
    }
    ids[at] = best.result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(MergeSymbols, equals_the_rule_on_short_and_long_pieces) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Pairs pairs;
    std::int32_t num_symbols = 3;
    for (std::int32_t rank = 0; rank < 30; ++rank) {
      const auto pick = [&] {
        return static_cast<std::int32_t>(random() % static_cast<unsigned>(num_symbols));
      };
      // Results repeat now and then, so that ranks need not rise from parts to wholes.
      const std::int32_t result = random() % 4 == 0 ? pick() : num_symbols++;
      pairs.insert({{pick(), pick()}, {rank, result}});
    }
    MergeScratch scratch;
    std::vector<std::int32_t> ids(1 + random() % 200);
    for (std::int32_t& id : ids) {
      id = static_cast<std::int32_t>(random() % 3);
      scratch.symbols.push_back({id, 0, 0});
    }
    merge_symbols(&scratch, [&](const Symbol& left, const Symbol& right) {
      const auto found = pairs.find({left.id, right.id});
      return found == pairs.end() ? Merge{} : found->second;
    });
    std::vector<std::int32_t> merged;
    for (const Symbol& symbol : scratch.symbols) {
      merged.push_back(symbol.id);
    }
    ASSERT_EQ(merged, merge_by_rule(ids, pairs)) << round;
  }
}

TEST(MergeQueue, gives_keys_in_rising_order) {
  std::mt19937_64 random(5);
  MergeQueue queue;
  std::multiset<std::uint64_t> expected;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t key = random() % 1000;
    queue.restart();
    expected.insert(key);
  }
  expected.clear();
  std::vector<std::uint64_t>* start = queue.restart();
  for (int i = 0; i < 100; ++i) {
    start->push_back(random() % 1000);
    expected.insert(start->back());
  }
  queue.start();
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t key = random() % 1000;
      queue.push(key);
      expected.insert(key);
    } else {
      const std::uint64_t wanted = expected.empty() ? MergeQueue::kEmpty : *expected.begin();
      ASSERT_EQ(queue.pop(), wanted);
      if (!expected.empty()) {
        expected.erase(expected.begin());
      }
    }
  }
}

TEST(AhoCorasick, reports_every_pattern_that_ends_at_a_place_longest_first) {
  const AhoCorasick automaton({"he", "she", "his", "hers", "", "he"});
  std::vector<std::int32_t> found;
  std::int32_t state = AhoCorasick::kRoot;
  for (const char c : std::string_view("ushers")) {
    state = automaton.next(state, static_cast<unsigned char>(c));
    for (std::int32_t match = automaton.match(state); match != AhoCorasick::kNone;
         match = automaton.shorter_match(match)) {
      found.push_back(automaton.pattern(match));
    }
  }
  EXPECT_THAT(found, ElementsAre(1, 0, 3));
}

TEST(ByteMap, is_a_bijection_of_bytes_and_printable_characters) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  }
  std::string back;
  ASSERT_TRUE(from_byte_chars(to_byte_chars(all), &back));
  EXPECT_EQ(back, all);
  EXPECT_EQ(to_byte_chars(" \n"), "\u0120\u010A");
  EXPECT_FALSE(from_byte_chars("a b", &back));
}

std::vector<std::string> cut(std::string_view pattern, std::string_view text) {
  auto cutter = PreTokenizer::create({pattern});
  EXPECT_TRUE(cutter.ok()) << cutter.status().message();
  SplitScratch scratch;
  cutter.value().split(text, &scratch);
  return {scratch.pieces.begin(), scratch.pieces.end()};
}

TEST(RegexDialect, white_space_is_the_unicode_property) {
  EXPECT_THAT(cut(R"(\s+)", "a\u180Eb\u3000c\u200Bd\u0085e"),
              ElementsAre("a\u180Eb", "\u3000", "c\u200Bd", "\u0085", "e"));
  EXPECT_THAT(cut(R"([^\S\n]+)", "a \n b"), ElementsAre("a", " ", "\n", " ", "b"));
}

TEST(RegexDialect, classes_intersect_nest_and_take_code_points) {
  EXPECT_THAT(cut(R"([\p{Lo}&&[^\p{Han}]]+)", "\u4E00\u3042\u3044\u4E01"),
              ElementsAre("\u4E00", "\u3042\u3044", "\u4E01"));
  EXPECT_THAT(cut(R"([[ab]\u4E00-\u4E0F]+)", "xab\u4E01y"), ElementsAre("x", "ab\u4E01", "y"));
  EXPECT_THAT(cut(R"([]x]+)", "a]xb"), ElementsAre("a", "]x", "b"));
}

TEST(RegexDialect, folding_is_full_and_scripts_are_not_extensions) {
  EXPECT_THAT(cut(R"((?i:'s))", "a'\u017Fb"), ElementsAre("a", "'\u017F", "b"));
  // U+3001 has Han among its script extensions, but its script is Common.
  EXPECT_THAT(cut(R"(\p{Han}+)", "\u4E00\u3001"), ElementsAre("\u4E00", "\u3001"));
}

TEST(RegexDialect, malformed_patterns_are_errors) {
  for (const char* pattern :
       {"[", "[a", "(", "\\", "\\u12", "[a&&", "[[[", "a{2,1}", "(?m)a", "\xFF", "[a[^b]c]"}) {
    EXPECT_FALSE(Regex::compile(pattern).ok()) << pattern;
  }
}

TEST(Regex, a_pattern_made_to_be_slow_gives_up) {
  const auto regex = Regex::compile("(?:a+a+)+$");
  ASSERT_TRUE(regex.ok());
  const std::string text(5000, 'a');
  RegexScratch scratch;
  EXPECT_EQ(regex.value().find(text + "b", 0, &scratch), std::nullopt);
}

TEST(Unicode, normal_forms_of_known_texts) {
  EXPECT_EQ(to_unicode_form("e\u0301", UnicodeForm::kNfc), "\u00E9");
  EXPECT_EQ(to_unicode_form("\u00E9", UnicodeForm::kNfd), "e\u0301");
  EXPECT_EQ(to_unicode_form("\uFB01\u2460", UnicodeForm::kNfkc), "fi1");
  EXPECT_EQ(to_unicode_form("\uD55C", UnicodeForm::kNfd), "\u1112\u1161\u11AB");
  EXPECT_EQ(to_unicode_form("\u1112\u1161\u11AB", UnicodeForm::kNfc), "\uD55C");
  // Marks are ordered by combining class: dot below (220) before dot above (230).
  EXPECT_EQ(to_unicode_form("q\u0307\u0323", UnicodeForm::kNfc), "q\u0323\u0307");
  EXPECT_EQ(to_lower_unicode("\u0130\u03A3A"), "i\u0307\u03C3a");
}

TEST(Unicode, a_long_run_of_marks_is_normalised_in_good_time) {
  std::string text = "a";
  for (int i = 0; i < 100000; ++i) {
    text += i % 2 == 0 ? "\u0307" : "\u0323";
  }
  EXPECT_EQ(to_unicode_form(text, UnicodeForm::kNfd).size(), text.size());
}

TEST(WordCutter, cuts_before_spaces_that_no_token_joins) {
  WordCutter cutter;
  cutter.learn(">\u2581<");
  const std::string text = "ab\u2581c\u2581\u2581d>\u2581e";
  EXPECT_EQ(cutter.part_end(text, 0), 2U);
  EXPECT_EQ(cutter.part_end(text, 2), 6U);
  EXPECT_EQ(cutter.part_end(text, 6), text.size());
}

TEST(Charsmap, sizes_that_do_not_fit_are_errors) {
  EXPECT_TRUE(Charsmap::create("").ok());
  EXPECT_FALSE(Charsmap::create("\x01").ok());
  EXPECT_FALSE(Charsmap::create(std::string("\x08\0\0\0\0\0\0\0", 8)).ok());
}

}  // namespace
}  // namespace plumb
