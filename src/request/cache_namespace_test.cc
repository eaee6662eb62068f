// SPDX-License-Identifier: Apache-2.0
#include "request/cache_namespace.h"

#include <gtest/gtest.h>
#include <span>

#include "base/digest.h"

namespace plumb {
namespace {

std::string hex(const std::string& bytes) {
  return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// The expected values come from Python's hashlib over the bytes that the header describes.
TEST(CacheNamespace, is_the_digest_of_tagged_fields_with_lengths) {
  EXPECT_EQ(hex(cache_namespace({{"weights", "w1"}, {"salt", "x"}})),
            "bf3096ceb5aeedda0335c97ebcae92b8");
  EXPECT_EQ(hex(cache_namespace({{"weights", "w1"}})), "4d2cd5fc1b06c3edf954804b074046f3");
}

TEST(CacheNamespace, is_empty_without_a_value) {
  EXPECT_EQ(cache_namespace({}), "");
  EXPECT_EQ(cache_namespace({{"salt", ""}, {"lora", ""}}), "");
}

TEST(CacheNamespace, a_value_of_one_field_never_passes_for_another_field) {
  EXPECT_NE(cache_namespace({{"lora", "x"}}), cache_namespace({{"salt", "x"}}));
  EXPECT_NE(cache_namespace({{"salt", "a"}, {"lora", "b"}}),
            cache_namespace({{"salt", "b"}, {"lora", "a"}}));
  EXPECT_NE(cache_namespace({{"salt", "ab"}, {"principal", "c"}}),
            cache_namespace({{"salt", "a"}, {"principal", "bc"}}));
  const std::string forged("a\x09\0\0\0principal\x01\0\0\0c", 19);
  EXPECT_NE(cache_namespace({{"salt", forged}}),
            cache_namespace({{"salt", "a"}, {"principal", "c"}}));
}

}  // namespace
}  // namespace plumb
