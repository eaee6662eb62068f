// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_number_set.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace plumb {
namespace {

bool contains(const JsonNumberSets& sets, NumberSetId id, std::string_view text) {
  std::uint32_t state = 1;
  for (const char c : text) {
    const auto symbol = static_cast<std::size_t>(c == '-'   ? JsonNumberSets::kMinus
                                                 : c == '.' ? JsonNumberSets::kPoint
                                                            : c - '0');
    state = sets.states(id)[state].next[symbol];
  }
  return sets.states(id)[state].accepting;
}

Decimal decimal(std::string_view text) {
  return parse_decimal(text).value();
}

TEST(JsonNumberSets, a_number_has_one_text) {
  EXPECT_EQ(decimal("1.0e2").text(), "100");
  EXPECT_EQ(decimal("-12.50").text(), "-12.5");
  EXPECT_EQ(decimal("5e-3").text(), "0.005");
  EXPECT_EQ(decimal("-0.0").text(), "0");
  EXPECT_EQ(decimal("0.1e1").text(), "1");
  EXPECT_EQ(parse_decimal("1e308").status().code(), Code::kUnsupported);
  EXPECT_EQ(parse_decimal("1e99999999999999999999").status().code(), Code::kUnsupported);
}

TEST(JsonNumberSets, all_holds_texts_without_redundancy) {
  CompileBudget budget;
  JsonNumberSets sets(&budget);
  for (const std::string_view text : {"0", "-1", "10", "0.5", "-0.25", "123456789.123456"}) {
    EXPECT_TRUE(contains(sets, sets.all(), text)) << text;
  }
  for (const std::string_view text :
       {"", "-", "-0", "00", "01", "1.", "1.0", ".5", "1.50", "0.0", "0.1234567890123456"}) {
    EXPECT_FALSE(contains(sets, sets.all(), text)) << text;
  }
  EXPECT_FALSE(contains(sets, sets.integers(), "0.5"));
}

TEST(JsonNumberSets, bounds_agree_with_arithmetic) {
  CompileBudget budget;
  JsonNumberSets sets(&budget);
  for (const std::string_view bound :
       {"0", "1", "-1", "10", "9.5", "-9.5", "0.05", "-0.05", "100"}) {
    const NumberSetId below = sets.at_most(decimal(bound));
    const NumberSetId above = sets.at_least(decimal(bound));
    const double limit = std::stod(std::string(bound));
    for (int hundredths = -1100; hundredths <= 11000; hundredths += 5) {
      const std::string text = decimal(std::to_string(hundredths) + "e-2").text();
      EXPECT_EQ(contains(sets, below, text), hundredths <= std::lround(limit * 100))
          << text << " at most " << bound;
      EXPECT_EQ(contains(sets, above, text), hundredths >= std::lround(limit * 100))
          << text << " at least " << bound;
    }
  }
}

TEST(JsonNumberSets, sets_are_closed_under_complement) {
  CompileBudget budget;
  JsonNumberSets sets(&budget);
  const NumberSetId even = sets.multiples_of(decimal("2")).value();
  const NumberSetId odd_or_fraction = sets.other(even);
  EXPECT_TRUE(contains(sets, odd_or_fraction, "-7"));
  EXPECT_TRUE(contains(sets, odd_or_fraction, "2.5"));
  EXPECT_FALSE(contains(sets, odd_or_fraction, "128"));
  EXPECT_EQ(sets.both(even, odd_or_fraction), sets.none());
  EXPECT_EQ(sets.either(even, odd_or_fraction), sets.all());
  EXPECT_EQ(sets.other(odd_or_fraction), even);
}

TEST(JsonNumberSets, multiples_of_a_fraction) {
  CompileBudget budget;
  JsonNumberSets sets(&budget);
  const NumberSetId quarters = sets.multiples_of(decimal("0.25")).value();
  for (int hundredths = -300; hundredths <= 300; ++hundredths) {
    const std::string text = decimal(std::to_string(hundredths) + "e-2").text();
    EXPECT_EQ(contains(sets, quarters, text), hundredths % 25 == 0) << text;
  }
  EXPECT_EQ(sets.multiples_of(decimal("123456789")).status().code(), Code::kUnsupported);
}

TEST(JsonNumberSets, a_set_may_have_no_short_member) {
  CompileBudget budget;
  JsonNumberSets sets(&budget);
  const Decimal huge = decimal("1e60");
  EXPECT_TRUE(sets.has_short_member(sets.at_least(huge)));
  const NumberSetId between = sets.both(sets.at_least(decimal("1")), sets.at_most(decimal("0")));
  EXPECT_FALSE(sets.has_short_member(between));
}

TEST(JsonNumberSets, multiples_of_two_numbers_are_those_of_the_least_common_multiple) {
  CompileBudget budget;
  JsonNumberSets sets(&budget);
  const auto multiples = [&](std::string_view text) {
    return sets.multiples_of(decimal(text)).value();
  };
  EXPECT_EQ(sets.both(multiples("4"), multiples("6")), multiples("12"));
  EXPECT_EQ(sets.both(multiples("0.5"), multiples("0.3")), multiples("1.5"));
  EXPECT_EQ(sets.both(sets.integers(), multiples("2.5")), multiples("5"));
  EXPECT_EQ(sets.both(multiples("0.00001"), sets.integers()), sets.integers());
  EXPECT_EQ(multiples("1"), sets.integers());
  EXPECT_TRUE(sets.status().ok());
  EXPECT_EQ(sets.both(multiples("997"), multiples("991")), sets.none());
  EXPECT_EQ(sets.status().code(), Code::kUnsupported);
  EXPECT_EQ(sets.at_most(decimal("0.5")), sets.none());
}

}  // namespace
}  // namespace plumb
