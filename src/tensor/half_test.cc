// SPDX-License-Identifier: Apache-2.0
#include "tensor/half.h"

#include <cmath>
#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Half, every_half_survives_the_way_through_float) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float f = half_to_float(static_cast<std::uint16_t>(h));
    const std::uint16_t back = float_to_half(f);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(half_to_float(back)));
    } else {
      ASSERT_EQ(back, h);
    }
  }
}

TEST(Half, rounds_to_nearest_even_and_overflows_to_infinity) {
  EXPECT_EQ(float_to_half(1.0F + 0x1p-11F), 0x3C00);
  EXPECT_EQ(float_to_half(1.0F + 3 * 0x1p-11F), 0x3C02);
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(0x1p-25F), 0x0000);
  EXPECT_EQ(float_to_half(0x1.8p-25F), 0x0001);
}

TEST(BFloat16, every_pattern_survives_and_rounding_is_to_even) {
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const float f = bfloat16_to_float(static_cast<std::uint16_t>(b));
    if (!std::isnan(f)) {
      ASSERT_EQ(float_to_bfloat16(f), b);
    }
  }
  EXPECT_EQ(float_to_bfloat16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(float_to_bfloat16(1.0F + 3 * 0x1p-8F), 0x3F82);
}

}  // namespace
}  // namespace plumb
