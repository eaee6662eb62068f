// SPDX-License-Identifier: Apache-2.0
#include "grammar/regex_set.h"

#include <array>
#include <gtest/gtest.h>
#include <string>

#include "base/rng.h"
#include "base/text.h"
#include "grammar/grammar_test_tools.h"

namespace plumb {
namespace {

std::string utf8(char32_t c) {
  std::string out;
  append_utf8(&out, c);
  return out;
}

TEST(RegexSet, equal_languages_written_alike_share_an_id) {
  RegexSet set;
  const RegexId a = set.literal("a");
  const RegexId b = set.literal("b");
  EXPECT_EQ(set.any_of(std::array{a, b}), set.any_of(std::array{b, a, b}));
  EXPECT_EQ(set.any_of(std::array{a, b}), set.byte_range('a', 'b'));
  EXPECT_EQ(set.concat(std::array{set.concat(std::array{a, b}), a}), set.literal("aba"));
  EXPECT_EQ(set.complement(set.complement(a)), a);
  EXPECT_EQ(set.all_of(std::array{a, set.complement(a)}), set.none());
  EXPECT_EQ(set.any_of(std::array{a, set.complement(a)}), set.everything());
  EXPECT_EQ(set.all_of(std::array{a, b}), set.none());
  EXPECT_EQ(set.repeat(set.repeat(a, 0, 3), 0, 5), set.repeat(a, 0, 15));
  EXPECT_EQ(set.concat(std::array{set.repeat(a, 1, 2), a, set.repeat(a, 0, kUnbounded)}),
            set.repeat(a, 2, kUnbounded));
  EXPECT_EQ(set.any_of(std::array{set.repeat(a, 0, 3), set.repeat(a, 2, 7), a}),
            set.repeat(a, 0, 7));
  EXPECT_EQ(set.any_of(std::array{set.empty(), a}), set.repeat(a, 0, 1));
  EXPECT_EQ(set.concat(std::array{a, set.none()}), set.none());
  EXPECT_EQ(set.all_of({}), set.everything());
  EXPECT_EQ(set.any_of({}), set.none());
  EXPECT_EQ(set.concat({}), set.empty());
}

TEST(RegexSet, counted_repetition_takes_the_counts_between_its_bounds) {
  RegexSet set;
  const RegexId regex = set.repeat(set.literal("ab"), 2, 4);
  const std::array<bool, 7> expected = {false, false, true, true, true, false, false};
  std::string text;
  for (const bool is_match : expected) {
    EXPECT_EQ(matches(&set, regex, text), is_match) << text;
    text += "ab";
  }
}

TEST(RegexSet, a_class_matches_the_encoding_of_exactly_its_code_points) {
  RegexSet set;
  const std::array ranges = {CodePointRange{'a', 'c'},        CodePointRange{0x7F, 0x80},
                             CodePointRange{0x7FE, 0x801},    CodePointRange{0xD7FF, 0xE000},
                             CodePointRange{0xFFFF, 0x10001}, CodePointRange{0x10FFFF, 0x110000}};
  const RegexId inside = set.char_class(ranges);
  const RegexId outside = set.other_char(ranges);
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x900 || (c > 0xFFF0 && c < 0x10010) ? 1 : 0xFD) {
    bool is_inside = false;
    for (const CodePointRange& range : ranges) {
      is_inside = is_inside || (range.first <= c && c <= range.last);
    }
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    EXPECT_EQ(matches(&set, inside, utf8(c)), is_inside) << static_cast<unsigned>(c);
    EXPECT_EQ(matches(&set, outside, utf8(c)), !is_inside) << static_cast<unsigned>(c);
  }
}

TEST(RegexSet, text_is_well_formed_utf8) {
  RegexSet set;
  const RegexId text = set.text();
  for (const std::string_view good :
       {"", "a", "\xC3\xA9z", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xEE\x80\x80"}) {
    EXPECT_TRUE(matches(&set, text, good)) << good;
  }
  for (const std::string_view bad : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                                     "\xF4\x90\x80\x80", "\xF8", "a\xFF"}) {
    EXPECT_FALSE(matches(&set, text, bad)) << bad;
  }
}

// A random expression over {a, b} together with its language on all strings of up to 5 letters.
class RandomRegex {
 public:
  static constexpr int kNumStrings = 63;  // 2^6 - 1

  struct Sample {
    RegexId regex{};
    std::array<bool, kNumStrings> has{};
  };

  RandomRegex(RegexSet* set, std::uint64_t seed) : set_(set), rng_(seed) {}

  // Strings in order of length, then value: "", a, b, aa, ...
  static std::string text(int index) {
    std::string out;
    for (int i = index + 1; i > 1; i /= 2) {
      out.insert(out.begin(), i % 2 == 0 ? 'a' : 'b');
    }
    return out;
  }

  Sample make(int depth) {
    switch (depth == 0 ? rng_.below(3) : 3 + rng_.below(5)) {
      case 0:
        return leaf(set_->empty(), "");
      case 1:
        return leaf(set_->literal("a"), "a");
      case 2:
        return leaf(set_->literal("b"), "b");
      case 3:
        return unite(make(depth - 1), make(depth - 1), false);
      case 4:
        return unite(make(depth - 1), make(depth - 1), true);
      case 5:
        return opposite(make(depth - 1));
      case 6: {
        const Sample left = make(depth - 1);
        const Sample right = make(depth - 1);
        return {set_->concat(std::array{left.regex, right.regex}), product(left, right).has};
      }
      default:
        return repeated(make(depth - 1));
    }
  }

 private:
  static Sample leaf(RegexId regex, std::string_view text) {
    Sample out{regex, {}};
    for (int i = 0; i < kNumStrings; ++i) {
      out.has[i] = RandomRegex::text(i) == text;
    }
    return out;
  }

  Sample unite(const Sample& a, const Sample& b, bool all) {
    const std::array parts{a.regex, b.regex};
    Sample out{all ? set_->all_of(parts) : set_->any_of(parts), {}};
    for (int i = 0; i < kNumStrings; ++i) {
      out.has[i] = all ? a.has[i] && b.has[i] : a.has[i] || b.has[i];
    }
    return out;
  }

  Sample opposite(const Sample& a) {
    Sample out{set_->complement(a.regex), {}};
    for (int i = 0; i < kNumStrings; ++i) {
      out.has[i] = !a.has[i];
    }
    return out;
  }

  static int index_of(std::string_view text) {
    int i = 1;
    for (const char c : text) {
      i = 2 * i + (c == 'a' ? 0 : 1);
    }
    return i - 1;
  }

  static Sample product(const Sample& a, const Sample& b) {
    Sample out;
    for (int i = 0; i < kNumStrings; ++i) {
      const std::string whole = text(i);
      for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        out.has[i] = out.has[i] ||
                     (a.has[index_of(whole.substr(0, cut))] && b.has[index_of(whole.substr(cut))]);
      }
    }
    return out;
  }

  Sample repeated(const Sample& a) {
    const std::int64_t min = rng_.below(3);
    const std::int64_t max = rng_.below(3) == 0 ? kUnbounded : min + rng_.below(3);
    Sample out = leaf(set_->empty(), "");
    Sample power = out;
    if (min > 0) {
      out.has.fill(false);
    }
    // Five letters take at most five iterations that are not empty; the rest repeats the empty one.
    for (std::int64_t n = 1; n <= (max == kUnbounded ? min + 6 : max); ++n) {
      power = product(power, a);
      for (int i = 0; i < kNumStrings && n >= min; ++i) {
        out.has[i] = out.has[i] || power.has[i];
      }
    }
    out.regex = set_->repeat(a.regex, min, max);
    return out;
  }

  RegexSet* set_;
  Rng rng_;
};

TEST(RegexSet, derivatives_agree_with_the_set_operations_on_all_short_strings) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    RegexSet set;
    const RandomRegex::Sample sample = RandomRegex(&set, seed).make(1 + static_cast<int>(seed % 5));
    for (int i = 0; i < RandomRegex::kNumStrings; ++i) {
      const std::string text = RandomRegex::text(i);
      ASSERT_EQ(matches(&set, sample.regex, text), sample.has[i]) << seed << " '" << text << "'";
    }
  }
}

TEST(RegexSet, counts_whose_sum_does_not_fit_stay_apart) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  RegexSet set;
  const RegexId x = set.literal("x");
  const RegexId at_least = set.repeat(x, kHalf, kUnbounded);
  const RegexId at_most = set.repeat(x, 0, kHalf);
  EXPECT_FALSE(matches(&set, set.concat(std::array{at_least, at_least}), "xx"));
  EXPECT_TRUE(matches(&set, set.concat(std::array{at_most, at_most}), "xx"));
  EXPECT_TRUE(matches(&set, set.any_of(std::array{at_most, set.repeat(x, 0, INT64_MAX)}), "xx"));
}

}  // namespace
}  // namespace plumb
