// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "tensor/format.h"

namespace plumb {
namespace {

std::vector<float> saw(int n) {
  std::vector<float> x;
  for (int i = 0; i < n; ++i) {
    x.push_back(static_cast<float>((37 * i) % 97 - 48) / 16.0F);
  }
  return x;
}

std::vector<std::byte> packed(DType dtype, const std::vector<float>& x) {
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  std::vector<std::byte> out(static_cast<std::size_t>(row_bytes(dtype, n)));
  quantize(dtype, x.data(), n, out.data());
  return out;
}

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15U];
  }
  return text;
}

double relative_error(DType dtype, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  dequantize(dtype, packed(dtype, x).data(), static_cast<std::int64_t>(x.size()), y.data());
  double error = 0;
  double energy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += std::pow(static_cast<double>(y[i] - x[i]), 2);
    energy += std::pow(static_cast<double>(x[i]), 2);
  }
  return std::sqrt(error / energy);
}

TEST(Quantize, first_block_bytes_are_those_of_the_reference_quantiser) {
  const std::vector<float> x = saw(32);
  EXPECT_EQ(hex(packed(DType::kQ4_0, x)), "00362086ec42a90f65db3197fd53b91f76dc");
  EXPECT_EQ(hex(packed(DType::kQ4_1, x)), "333600c22086ec42a80e65ca2187ed53b91f75db");
  EXPECT_EQ(hex(packed(DType::kQ5_0, x)), "0032b4b49696300cc985410dd996521eeaa6632febb7");
  EXPECT_EQ(hex(packed(DType::kQ5_1, x)), "003200c2b4b49696300cc985410dd996521eeaa6632febb7");
  EXPECT_EQ(hex(packed(DType::kQ8_0, x)),
            "0c2681e345a6086acb2d8ef052b31577d83a9bfd5fc02284e647a90b6cce3091f355");
  EXPECT_EQ(hex(packed(DType::kIQ4_NL, x)), "17261085ed32b90f64db2197fe42ca1f75ec");
  EXPECT_EQ(hex(packed(DType::kMXFP4, x)), "7eef0b65de31f6ac54ef1976ce42f79c65");
}

struct Gate {
  DType dtype;
  int num_elements;
  double reference_error;
};

class QuantizeGate : public testing::TestWithParam<Gate> {};

TEST_P(QuantizeGate, the_error_is_that_of_the_reference_within_two_percent) {
  const Gate& gate = GetParam();
  const double error = relative_error(gate.dtype, saw(gate.num_elements));
  EXPECT_LE(error, 1.02 * gate.reference_error);
  EXPECT_GE(error, 0.9 * gate.reference_error) << "better than possible: is the test right?";
}

TEST_P(QuantizeGate, all_zero_blocks_expand_to_zeros) {
  const std::vector<float> zeros(256, 0.0F);
  std::vector<float> y(256, 1.0F);
  dequantize(GetParam().dtype, packed(GetParam().dtype, zeros).data(), 256, y.data());
  for (const float v : y) {
    EXPECT_EQ(v, 0.0F);
  }
}

TEST_P(QuantizeGate, values_that_are_not_finite_do_no_harm) {
  std::vector<float> x = saw(256);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  x[70] = std::numeric_limits<float>::infinity();
  x[200] = -std::numeric_limits<float>::infinity();
  x[201] = std::numeric_limits<float>::denorm_min();
  std::vector<float> y(256);
  dequantize(GetParam().dtype, packed(GetParam().dtype, x).data(), 256, y.data());
  const std::vector<float> tiny(256, std::numeric_limits<float>::denorm_min());
  dequantize(GetParam().dtype, packed(GetParam().dtype, tiny).data(), 256, y.data());
}

INSTANTIATE_TEST_SUITE_P(
    Formats, QuantizeGate,
    testing::Values(Gate{DType::kQ4_0, 32, .0609}, Gate{DType::kQ4_1, 32, .0585},
                    Gate{DType::kQ5_0, 32, .0285}, Gate{DType::kQ5_1, 32, .0285},
                    Gate{DType::kQ8_0, 32, .0038}, Gate{DType::kIQ4_NL, 32, .0669},
                    Gate{DType::kMXFP4, 32, .110}, Gate{DType::kQ2_K, 256, .254},
                    Gate{DType::kQ3_K, 256, .134}, Gate{DType::kQ4_K, 256, .0598},
                    Gate{DType::kQ5_K, 256, .0295}, Gate{DType::kQ6_K, 256, .0128},
                    Gate{DType::kIQ4_XS, 256, .0678}, Gate{DType::kQ13, 128, .000122}),
    [](const auto& param_info) { return std::string(to_text(param_info.param.dtype)); });

TEST(Quantize, q13_keeps_the_largest_of_128_exactly_and_rounds_to_even) {
  std::vector<float> x(128, 0.0F);
  x[0] = -4095.0F;
  x[1] = 2.5F;
  x[2] = 3.5F;
  x[127] = 4094.75F;
  const std::vector<std::byte> block = packed(DType::kQ13, x);
  EXPECT_EQ(hex(block).substr(0, 20), "0000803f01f002000400");
  std::vector<float> y(128);
  dequantize(DType::kQ13, block.data(), 128, y.data());
  EXPECT_EQ(y[0], -4095.0F);
  EXPECT_EQ(y[1], 2.0F);
  EXPECT_EQ(y[2], 4.0F);
  EXPECT_EQ(y[3], 0.0F);
  EXPECT_EQ(y[127], 4095.0F);
}

TEST(Quantize, an_all_zero_block_of_q4_0_stores_minus_zero_and_the_middle_code) {
  const std::vector<std::byte> bytes = packed(DType::kQ4_0, std::vector<float>(32, 0.0F));
  EXPECT_EQ(hex(bytes), "0080" + std::string(32, '8'));
}

TEST(Quantize, floats_round_to_nearest_even) {
  const std::vector<float> x{1.0F + 0x1p-11F, -2.0F, 65520.0F, 1.0F + 0x1p-8F};
  EXPECT_EQ(hex(packed(DType::kF16, x)), "003c00c0007c043c");
  EXPECT_EQ(hex(packed(DType::kBF16, x)), "803f00c08047803f");
  EXPECT_EQ(hex(packed(DType::kF32, {-2.0F})), "000000c0");
}

}  // namespace
}  // namespace plumb
