// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using namespace std::string_view_literals;

// RFC 4648, section 10.
TEST(Base64, the_examples_of_the_standard_are_encoded) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foo"), "Zm9v");
  EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, every_byte_comes_back) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  }
  std::string decoded;
  ASSERT_TRUE(decode_base64(encode_base64(bytes), &decoded));
  EXPECT_EQ(decoded, bytes);
  EXPECT_EQ(encode_base64("\0\0\x80\x3f\0\0\0\xc0"sv), "AACAPwAAAMA=");
}

TEST(Base64, decodes_with_and_without_padding) {
  std::string bytes;
  ASSERT_TRUE(decode_base64("YWI=", &bytes));
  EXPECT_EQ(bytes, "ab");
  ASSERT_TRUE(decode_base64("YWI", &bytes));
  EXPECT_EQ(bytes, "ab");
  EXPECT_FALSE(decode_base64("Y", &bytes));
  EXPECT_FALSE(decode_base64("YW!=", &bytes));
}

}  // namespace
}  // namespace plumb
