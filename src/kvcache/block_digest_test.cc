// SPDX-License-Identifier: Apache-2.0
#include "kvcache/block_digest.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "request/cache_namespace.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

// The first eight bytes as other engines number their events.
std::int64_t event_id(const Digest256& digest) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) {
    value = value << 8 | digest[static_cast<std::size_t>(i)];
  }
  return static_cast<std::int64_t>(value);
}

TEST(BlockDigest, the_plain_chain_is_that_of_other_engines) {
  const Digest256 first = chained_digest("", Tokens{1, 2, 3, 4});
  EXPECT_EQ(to_hex(first), "cf97adeedb59e05bfd73a2b4c2a8885708c4f4f70c84c64b27120e72ab733b72");
  EXPECT_EQ(event_id(first), -3488128144981237669);
  const Digest256 second = chained_digest(first, Tokens{5, 6, 7, 8});
  EXPECT_EQ(to_hex(second), "4ebfa8a1f3c341517621838c6e1b9aa350307e3f00b3cbd1a07ef740f54396d6");
  EXPECT_EQ(event_id(second), 5674439469042975057);
}

// Expected: Python's hashlib.sha256(namespace + struct.pack("<4I", 1, 2, 3, 4)).
TEST(BlockDigest, a_namespace_begins_its_own_chain) {
  const std::string ns = cache_namespace({{"weights", "w1"}});
  EXPECT_EQ(to_hex(chained_digest(ns, Tokens{1, 2, 3, 4})),
            "b1bfebf1d54f5fe60cc131a4dee75b9f8fad0765b19be32ecb9079b1a5bc16ba");
}

TEST(BlockDigest, a_block_goes_by_the_first_half_of_its_digest) {
  const Digest256 digest = chained_digest("", Tokens{1, 2, 3, 4});
  EXPECT_EQ(to_hex(block_hash(digest)), "cf97adeedb59e05bfd73a2b4c2a88857");
}

}  // namespace
}  // namespace plumb
