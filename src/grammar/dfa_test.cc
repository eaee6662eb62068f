// SPDX-License-Identifier: Apache-2.0
#include "grammar/dfa.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

namespace plumb {
namespace {

bool is_accepted(const Dfa& dfa, std::string_view text) {
  std::int32_t state = dfa.start();
  for (const char c : text) {
    state = state == Dfa::kDead ? state : dfa.next(state, static_cast<std::uint8_t>(c));
  }
  return state != Dfa::kDead && dfa.is_accepting(state);
}

Dfa build(RegexSet* set, RegexId regex) {
  CompileBudget budget;
  Result<Dfa> dfa = Dfa::build(regex, set, &budget);
  EXPECT_TRUE(dfa.ok()) << dfa.status().message();
  return std::move(dfa).value();
}

TEST(Dfa, accepts_the_language_of_its_expression) {
  RegexSet set;
  const RegexId letters = set.repeat(set.byte_range('a', 'z'), 1, kUnbounded);
  const std::array keywords = {set.literal("if"), set.literal("in")};
  const Dfa dfa =
      build(&set, set.all_of(std::array{letters, set.complement(set.any_of(keywords))}));
  EXPECT_TRUE(is_accepted(dfa, "i"));
  EXPECT_TRUE(is_accepted(dfa, "int"));
  EXPECT_FALSE(is_accepted(dfa, "in"));
  EXPECT_FALSE(is_accepted(dfa, "if"));
  EXPECT_FALSE(is_accepted(dfa, ""));
  EXPECT_FALSE(is_accepted(dfa, "in t"));
}

TEST(Dfa, a_state_that_reaches_no_accepting_state_is_dead) {
  RegexSet set;
  // a* b  and  a* c have no common string, which no simplification sees.
  const RegexId as = set.repeat(set.literal("a"), 0, kUnbounded);
  const RegexId b = set.concat(std::array{as, set.literal("b"), as});
  const RegexId c = set.concat(std::array{as, set.literal("c"), as});
  EXPECT_EQ(build(&set, set.all_of(std::array{b, c})).start(), Dfa::kDead);
  const RegexId x = set.literal("x");
  const RegexId or_x = set.any_of(
      std::array{set.all_of(std::array{b, c}), set.concat(std::array{set.literal("a"), x})});
  const Dfa dfa = build(&set, or_x);
  EXPECT_EQ(dfa.num_states(), 3);
  EXPECT_EQ(dfa.only_byte(0), 'a');
  EXPECT_EQ(dfa.next(0, 'b'), Dfa::kDead);
  EXPECT_EQ(dfa.next(dfa.next(0, 'a'), 'a'), Dfa::kDead);
  EXPECT_TRUE(is_accepted(dfa, "ax"));
}

TEST(Dfa, says_which_byte_is_the_only_one) {
  RegexSet set;
  const Dfa dfa = build(&set, set.concat(std::array{set.byte_range('0', '9'), set.literal("x")}));
  EXPECT_EQ(dfa.only_byte(0), Dfa::kSeveralBytes);
  const std::int32_t after_digit = dfa.next(0, '4');
  EXPECT_EQ(dfa.only_byte(after_digit), 'x');
  EXPECT_EQ(dfa.only_byte(dfa.next(after_digit, 'x')), Dfa::kNoByte);
  EXPECT_EQ(dfa.num_classes(), 3);
}

TEST(Dfa, equal_automata_have_equal_digests) {
  RegexSet one;
  RegexSet other;
  other.literal("something else first");
  const auto make = [](RegexSet* set, std::string_view word) {
    return build(set, set->repeat(set->literal(word), 0, 3));
  };
  EXPECT_EQ(make(&one, "ab").digest(), make(&other, "ab").digest());
  EXPECT_NE(make(&one, "ab").digest(), make(&other, "ac").digest());
}

TEST(Dfa, stops_at_the_limit_of_states) {
  RegexSet set;
  // (a|b)* a (a|b){20} needs 2^20 states.
  const RegexId any = set.byte_range('a', 'b');
  const RegexId regex = set.concat(
      std::array{set.repeat(any, 0, kUnbounded), set.literal("a"), set.repeat(any, 20, 20)});
  CompileBudget budget({.max_states = 5000}, {});
  const Result<Dfa> dfa = Dfa::build(regex, &set, &budget);
  ASSERT_FALSE(dfa.ok());
  EXPECT_EQ(dfa.status().code(), Code::kResourceExhausted);
  EXPECT_NE(dfa.status().message().find("5000 states"), std::string::npos);
}

TEST(Dfa, stops_when_it_is_cancelled) {
  RegexSet set;
  const RegexId any = set.byte_range('a', 'b');
  const RegexId regex = set.concat(
      std::array{set.repeat(any, 0, kUnbounded), set.literal("a"), set.repeat(any, 20, 20)});
  int num_asked = 0;
  CompileBudget budget({}, [&] { return ++num_asked > 3; });
  EXPECT_EQ(Dfa::build(regex, &set, &budget).status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(num_asked, 4);
}

TEST(Dfa, refuses_an_expression_that_nests_too_deep) {
  RegexSet set;
  RegexId regex = set.literal("a");
  for (int i = 0; i < 2000; ++i) {
    regex = set.repeat(set.concat(std::array{regex, set.literal("b")}), 2, 3);
  }
  CompileBudget budget;
  EXPECT_EQ(Dfa::build(regex, &set, &budget).status().code(), Code::kResourceExhausted);
}

TEST(Dfa, one_derivative_of_a_long_expression_asks_too) {
  // Any of the parts may be left out, so each derivative looks at all.
  RegexSet set;
  std::vector<RegexId> parts;
  for (int i = 0; i < 1'000; ++i) {
    parts.push_back(set.repeat(set.literal("a" + std::to_string(i)), 0, 1));
  }
  CompileBudget::Limits limits;
  limits.max_states = 1;
  std::int64_t num_asked = 0;
  CompileBudget budget(limits, [&] {
    ++num_asked;
    return false;
  });
  EXPECT_EQ(Dfa::build(set.concat(parts), &set, &budget).status().code(), Code::kResourceExhausted);
  EXPECT_GT(num_asked, 10);
  num_asked = 0;
  CompileBudget stopped({}, [&] { return ++num_asked >= 10; });
  EXPECT_EQ(Dfa::build(set.concat(parts), &set, &stopped).status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(num_asked, 10);
}

}  // namespace
}  // namespace plumb
