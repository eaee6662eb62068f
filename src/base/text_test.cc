// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Text, ill_formed_utf8_becomes_one_replacement_per_maximal_subsequence) {
  EXPECT_EQ(to_valid_utf8("\xFF"
                          "A"),
            "\xEF\xBF\xBD"
            "A");
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98"), "\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xE0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Text, every_code_point_survives_encode_and_decode) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    std::string text;
    append_utf8(&text, c);
    const Utf8Char decoded = decode_utf8(text);
    ASSERT_TRUE(decoded.valid && decoded.code_point == c &&
                static_cast<std::size_t>(decoded.num_bytes) == text.size());
  }
}

TEST(Text, an_incomplete_tail_is_held_only_if_it_can_become_a_character) {
  EXPECT_EQ(complete_utf8_len("ab\xF0\x9F"), 2U);
  EXPECT_EQ(complete_utf8_len("ab\xF0\x9F\x98\x80"), 6U);
  EXPECT_EQ(complete_utf8_len("ab\xFF"), 3U);
  EXPECT_EQ(complete_utf8_len("ab\x80"), 3U);
  EXPECT_EQ(complete_utf8_len("\xE0\x80"), 2U);
  EXPECT_EQ(complete_utf8_len(""), 0U);
  EXPECT_EQ(num_code_points("a\xC3\xA9\xF0\x9F\x98\x80"), 3);
}

TEST(Text, numbers_are_parsed_as_a_whole_or_not_at_all) {
  std::int64_t i = 0;
  EXPECT_TRUE(parse_int64("-12", &i));
  EXPECT_EQ(i, -12);
  EXPECT_FALSE(parse_int64("12x", &i));
  EXPECT_FALSE(parse_int64("", &i));
  EXPECT_FALSE(parse_int64("9223372036854775808", &i));
}

TEST(Text, sizes_print_with_their_unit) {
  EXPECT_EQ(bytes_to_text(12), "12 B");
  EXPECT_EQ(bytes_to_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_to_text(std::uint64_t{340} << 20), "340 MiB");
}

}  // namespace
}  // namespace plumb
