// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Digest, sha256_matches_the_published_vectors) {
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, sha256_in_parts_equals_sha256_of_the_whole) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.finish(), sha256("abc"));
}

TEST(Digest, hmac_matches_rfc_4231) {
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

TEST(Digest, base64_matches_rfc_4648) {
  const auto encoded = [](std::string_view text) {
    return to_base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xfb\xff"), "+/8=");
}

TEST(Digest, constant_time_comparison_sees_a_difference_in_any_byte) {
  const Digest256 a = sha256("abc");
  EXPECT_TRUE(equal_constant_time(a, sha256("abc")));
  for (std::size_t i = 0; i < a.size(); ++i) {
    Digest256 b = a;
    b[i] ^= 1;
    EXPECT_FALSE(equal_constant_time(a, b));
  }
}

}  // namespace
}  // namespace plumb
