// SPDX-License-Identifier: Apache-2.0
#include "base/seal.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Seal, opens_what_it_closed) {
  const Seal seal;
  for (const std::string text : {"", "a", "thoughts about \xF0\x9F\x98\x80"}) {
    const std::string sealed = seal.close(text, "owner");
    EXPECT_EQ(seal.open(sealed, "owner"), text);
    EXPECT_EQ(sealed.find("thoughts"), std::string::npos);
  }
  EXPECT_NE(seal.close("a", "o"), seal.close("a", "o"));
}

TEST(Seal, opens_nothing_else) {
  const Seal seal("secret");
  std::string sealed = seal.close("text", "owner");
  EXPECT_EQ(Seal("secret").open(sealed, "owner"), "text");
  EXPECT_FALSE(Seal("other").open(sealed, "owner").has_value());
  EXPECT_FALSE(Seal().open(sealed, "owner").has_value());
  EXPECT_FALSE(seal.open(sealed, "somebody").has_value());
  EXPECT_FALSE(seal.open(sealed.substr(4), "owner").has_value());
  sealed[20] = sealed[20] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(seal.open(sealed, "owner").has_value());
  for (const char* text : {"", "no base64!", "AAAA", "===="}) {
    EXPECT_FALSE(seal.open(text, "owner").has_value()) << text;
  }
}

}  // namespace
}  // namespace plumb
