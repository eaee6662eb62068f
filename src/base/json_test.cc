// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

namespace plumb {
namespace {

std::string round_trip(std::string_view text) {
  Result<Json> value = parse_json(text);
  return value.ok() ? to_text(value.value()) : "error: " + value.status().message();
}

TEST(Json, members_keep_their_order_and_numbers_their_kind) {
  EXPECT_EQ(round_trip(R"({"b":1,"a":[1.0,-2,true,null,"x/y"],"c":18446744073709551615})"),
            R"({"b":1,"a":[1.0,-2,true,null,"x/y"],"c":18446744073709551615})");
}

TEST(Json, the_last_of_duplicate_keys_wins_unless_they_are_rejected) {
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
  EXPECT_FALSE(parse_json(R"({"a":1,"a":3})", {.duplicates = JsonDuplicates::kReject}).ok());
}

TEST(Json, duplicates_are_found_in_large_objects) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) {
    text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  }
  const std::string last_wins = text + "\"k50\":-1}";
  const Result<Json> value = parse_json(last_wins);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value.value().as_object().size(), 100U);
  EXPECT_EQ(value.value().find("k50")->as_int(), -1);
  EXPECT_FALSE(parse_json(last_wins, {.duplicates = JsonDuplicates::kReject}).ok());
}

TEST(Json, a_lone_surrogate_becomes_the_replacement_character) {
  EXPECT_EQ(round_trip(R"("a\ud83d")"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(round_trip(R"("\udc00\ud83d\ude00")"), "\"\xEF\xBF\xBD\xF0\x9F\x98\x80\"");
  EXPECT_EQ(round_trip(R"("\\ud83d")"), R"("\\ud83d")");
}

TEST(Json, what_is_not_json_is_refused_with_its_offset) {
  for (const char* bad : {"", "nul", "{", "[1,]", "{\"a\":1,}", "NaN", "Infinity", "/*x*/1", "1 2",
                          "\"\xff\"", "01"}) {
    EXPECT_FALSE(parse_json(bad).ok()) << bad;
  }
  EXPECT_NE(round_trip("[1, x]").find("at byte 4"), std::string::npos) << round_trip("[1, x]");
}

TEST(Json, depth_and_items_are_limited) {
  EXPECT_TRUE(parse_json(std::string(128, '[') + std::string(128, ']')).ok());
  EXPECT_FALSE(parse_json(std::string(129, '[') + std::string(129, ']')).ok());
  EXPECT_FALSE(parse_json("[1,2,3]", {.max_items = 2}).ok());
  const JsonLimits mixed{.max_mixed_items = 2};
  EXPECT_TRUE(parse_json("[1,2,3]", mixed).ok());
  EXPECT_FALSE(parse_json("[1,2,{}]", mixed).ok());
  EXPECT_FALSE(parse_json(R"({"a":1,"b":2,"c":3})", mixed).ok());
}

TEST(Json, an_integer_field_takes_whole_doubles_only) {
  std::int64_t i = 0;
  EXPECT_TRUE(Json(32.0).to_int64(&i));
  EXPECT_EQ(i, 32);
  EXPECT_FALSE(Json(32.5).to_int64(&i));
  EXPECT_FALSE(Json("32").to_int64(&i));
  EXPECT_FALSE(Json(true).to_int64(&i));
  EXPECT_FALSE(Json(1e19).to_int64(&i));
  for (const char* text : {"-9223372036854775809", "-9223372036854775808.5", "-1e400", "1e400",
                           "9223372036854775808", "18446744073709551616"}) {
    EXPECT_FALSE(parse_json(text).value().to_int64(&i)) << text << " read as " << i;
  }
  EXPECT_TRUE(parse_json("-9223372036854775808").value().to_int64(&i));
  EXPECT_EQ(i, std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(parse_json("-0.0").value().to_int64(&i));
  EXPECT_EQ(i, 0);
}

TEST(Json, line_separators_and_controls_are_escaped_and_other_text_is_raw) {
  EXPECT_EQ(to_text(Json("\x01\n\"\\\xC2\x85\xE2\x80\xA8\xC3\xA9")),
            "\"\\u0001\\n\\\"\\\\\\u0085\\u2028\xC3\xA9\"");
}

TEST(Json, doubles_print_shortest_round_trip) {
  EXPECT_EQ(to_text(JsonArray{Json(0.1), Json(1e300), Json(3.0)}), "[0.1,1e+300,3.0]");
}

TEST(Json, doubles_are_the_nearest_to_their_text) {
  for (const std::string_view text :
       {"1.8446744073718446e+25", "18446744073718446709551615", "2.2250738585072014e-308", "5e-324",
        "1.7976931348623157e308", "0.1", "9007199254740993.0", "123456789012345678901",
        "7.2057594037927933e16", "-3.141592653589793238462643"}) {
    const Result<Json> json = parse_json(text);
    ASSERT_TRUE(json.ok()) << text;
    EXPECT_EQ(json.value().as_double(), std::strtod(std::string(text).c_str(), nullptr)) << text;
  }
}

}  // namespace
}  // namespace plumb
