// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <gtest/gtest.h>
#include <string_view>

#include "grammar/grammar_test_tools.h"
#include "grammar/regex_set.h"

namespace plumb {
namespace {

TEST(RegexJsonText, decodes_to_the_language) {
  RegexSet set;
  const RegexId any = set.json_text(set.repeat(set.other_char({}), 2, 2));
  EXPECT_TRUE(matches(&set, any, "ab"));
  EXPECT_TRUE(matches(&set, any, "\xC3\xA9\\n"));
  EXPECT_TRUE(matches(&set, any, "\\\"\\\\"));
  EXPECT_TRUE(matches(&set, any, "\\u0000\\u001F"));
  EXPECT_FALSE(matches(&set, any, "a\""));
  EXPECT_FALSE(matches(&set, any, "a\n"));
  EXPECT_FALSE(matches(&set, any, "a\\u0061"));
  EXPECT_FALSE(matches(&set, any, "a\\"));
}

TEST(RegexJsonText, leaves_out_escapes_that_the_language_has_no_use_for) {
  RegexSet set;
  const RegexId letters = set.json_text(set.repeat(set.byte_range('a', 'z'), 0, kUnbounded));
  EXPECT_EQ(set.derivative(letters, '\\'), set.none());
  EXPECT_EQ(set.derivative(letters, 'q'), letters);
}

TEST(RegexAutomaton, follows_its_states) {
  RegexSet set;
  // Binary numbers divisible by three.
  std::vector<RegexSet::AutomatonState> states(3);
  for (std::uint32_t remainder = 0; remainder < 3; ++remainder) {
    states[remainder].next = {{remainder * 2 % 3, ByteSet::range('0', '0')},
                              {(remainder * 2 + 1) % 3, ByteSet::range('1', '1')}};
  }
  states[0].accepting = true;
  const RegexId threes = set.automaton(std::move(states), 0);
  EXPECT_TRUE(matches(&set, threes, "1001"));
  EXPECT_FALSE(matches(&set, threes, "1000"));
  const RegexId not_threes = set.complement(threes);
  EXPECT_TRUE(matches(&set, not_threes, "1000"));
  EXPECT_TRUE(matches(
      &set, set.all_of(std::array{not_threes, set.repeat(set.byte_range('0', '9'), 1, 1)}), "2"));
}

}  // namespace
}  // namespace plumb
