// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <gtest/gtest.h>
#include <string>

namespace plumb {
namespace {

std::uint64_t of(const std::string& text) {
  return checksum64(std::as_bytes(std::span(text)));
}

// Values from xxHash's own `xxhsum -H3`.
TEST(Checksum, is_xxh3) {
  EXPECT_EQ(of(""), 0x2D06800538D394C2ULL);
  EXPECT_EQ(of("abc"), 0x78AF5F94892F3950ULL);
}

TEST(Checksum, changes_with_every_bit) {
  std::string text(300, 'x');
  const std::uint64_t whole = of(text);
  for (std::size_t i = 0; i < text.size() * 8; ++i) {
    text[i / 8] = static_cast<char>(text[i / 8] ^ (1 << (i % 8)));
    EXPECT_NE(of(text), whole);
    text[i / 8] = static_cast<char>(text[i / 8] ^ (1 << (i % 8)));
  }
}

}  // namespace
}  // namespace plumb
