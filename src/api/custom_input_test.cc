// SPDX-License-Identifier: Apache-2.0
#include "api/custom_input.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace plumb {
namespace {

std::string read_in_pieces(const std::string& arguments, std::size_t size) {
  CustomInputReader reader;
  std::string out;
  for (std::size_t at = 0; at < arguments.size(); at += size) {
    out += reader.push(std::string_view(arguments).substr(at, size));
  }
  return out + reader.finish();
}

TEST(CustomInputReader, gives_the_text_of_the_string_however_it_is_cut) {
  const std::string text = "print(\"hé\")\n\t\\ \U0001F600 \x7f/";
  const std::string plain = to_text(JsonObject{{"input", text}});
  const std::string escaped = R"( { "input" : "print(\"h\u00e9\")\n\t\\ \ud83d\uDE00 \u007f\/" } )";
  for (std::size_t size = 1; size < 12; ++size) {
    EXPECT_EQ(read_in_pieces(plain, size), text) << size;
    EXPECT_EQ(read_in_pieces(escaped, size), text) << size;
  }
}

TEST(CustomInputReader, tells_as_soon_as_it_knows) {
  CustomInputReader reader;
  EXPECT_EQ(reader.push(R"({"in)"), "");
  EXPECT_EQ(reader.push(R"(put":"ab\)"), "ab");
  EXPECT_EQ(reader.push(R"(nc)"), "\nc");
  EXPECT_EQ(reader.push(R"("})"), "");
  EXPECT_EQ(reader.finish(), "");
}

TEST(CustomInputReader, half_a_pair_becomes_the_replacement_character) {
  EXPECT_EQ(read_in_pieces(R"({"input":"\ud83dx"})", 1), "\uFFFDx");
  EXPECT_EQ(read_in_pieces(R"({"input":"\ud83d\n"})", 1), "\uFFFD\n");
}

TEST(CustomInputReader, other_arguments_come_whole) {
  EXPECT_EQ(read_in_pieces(R"({"why":"so","input":"x"})", 3), "x");
  EXPECT_EQ(read_in_pieces(R"({"input":7})", 3), R"({"input":7})");
  EXPECT_EQ(read_in_pieces("no json", 2), "no json");
  EXPECT_EQ(read_in_pieces("", 1), "");
}

TEST(CustomInputReader, broken_off_it_keeps_what_is_whole) {
  EXPECT_EQ(read_in_pieces(R"({"input":"ab\u00)", 1), "ab");
}

}  // namespace
}  // namespace plumb
