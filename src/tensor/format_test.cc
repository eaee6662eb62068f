// SPDX-License-Identifier: Apache-2.0
#include "tensor/format.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "tensor/half.h"

namespace plumb {
namespace {

std::uint32_t crc32(const void* address, std::size_t num_bytes) {
  const unsigned char* p = static_cast<const unsigned char*>(address);
  std::uint32_t crc = 0xFFFFFFFFU;
  for (std::size_t i = 0; i < num_bytes; ++i) {
    crc ^= p[i];
    for (int k = 0; k < 8; ++k) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  return ~crc;
}

/// A block of bytes (37 i + 11) mod 256 with plain scales, and what it expands to.
struct WorkedBlock {
  DType dtype;
  int d_offset;
  int min_offset;  ///< -1: none
  float y0, y1, y15, y16, y31;
  double sum, weighted_sum;
  std::uint32_t crc;
};

std::vector<std::byte> bytes_of(const WorkedBlock& w) {
  std::vector<std::byte> block(static_cast<std::size_t>(traits(w.dtype).block_bytes));
  for (std::size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<std::byte>((37 * i + 11) % 256);
  }
  const auto put = [&](int offset, std::uint16_t half) {
    std::memcpy(block.data() + offset, &half, sizeof half);
  };
  if (w.dtype == DType::kMXFP4) {
    block[0] = std::byte{128};
    return block;
  }
  put(w.d_offset, 0x3800);
  if (w.min_offset >= 0) {
    put(w.min_offset, 0x3400);
  }
  return block;
}

class FormatBlocks : public testing::TestWithParam<WorkedBlock> {};

TEST_P(FormatBlocks, a_known_block_expands_to_the_published_values_bit_for_bit) {
  const WorkedBlock& w = GetParam();
  const std::vector<std::byte> block = bytes_of(w);
  std::vector<float> y(static_cast<std::size_t>(traits(w.dtype).block_elems));
  dequantize(w.dtype, block.data(), static_cast<std::int64_t>(y.size()), y.data());
  EXPECT_EQ(y[0], w.y0);
  EXPECT_EQ(y[1], w.y1);
  EXPECT_EQ(y[15], w.y15);
  EXPECT_EQ(y[16], w.y16);
  EXPECT_EQ(y[31], w.y31);
  double sum = 0;
  double weighted = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += static_cast<double>(y[i]);
    weighted += static_cast<double>(i + 1) * static_cast<double>(y[i]);
  }
  EXPECT_EQ(sum, w.sum);
  EXPECT_EQ(weighted, w.weighted_sum);
  EXPECT_EQ(crc32(y.data(), y.size() * sizeof(float)), w.crc);
}

TEST_P(FormatBlocks, packed_bytes_may_be_unaligned_and_blocks_follow_each_other) {
  const WorkedBlock& w = GetParam();
  const std::vector<std::byte> block = bytes_of(w);
  std::vector<std::byte> packed(1);
  packed.insert(packed.end(), block.begin(), block.end());
  packed.insert(packed.end(), block.begin(), block.end());
  const std::size_t n = static_cast<std::size_t>(traits(w.dtype).block_elems);
  std::vector<float> y(2 * n);
  dequantize(w.dtype, packed.data() + 1, static_cast<std::int64_t>(2 * n), y.data());
  EXPECT_EQ(crc32(y.data(), n * sizeof(float)), w.crc);
  EXPECT_EQ(crc32(y.data() + n, n * sizeof(float)), w.crc);
}

INSTANTIATE_TEST_SUITE_P(
    Worked, FormatBlocks,
    testing::Values(
        WorkedBlock{DType::kQ4_0, 0, -1, -1.5, 1, -4, -1.5, 0, -10.5, -259, 0xfef3c770},
        WorkedBlock{DType::kQ4_1, 0, 2, 7.75, 2.25, 5.25, 4.75, 6.25, 130.5, 2123.5, 0xec504156},
        WorkedBlock{DType::kQ5_0, 0, -1, 4.5, -1, -6, 7, 0.5, 7.5, 56, 0xdc349c3f},
        WorkedBlock{DType::kQ5_1, 0, 2, 9.75, 12.25, 15.25, 9.75, 2.75, 260.5, 4082.5, 0x9a7f6e67},
        WorkedBlock{DType::kQ8_0, 0, -1, 42.5, 61, -64, -45.5, -24, -88, -4040, 0xce689365},
        WorkedBlock{DType::kQ2_K, 80, 82, 16.5, 0, 11, -.75, -.75, 1029.5, 121565, 0xb57cbe35},
        WorkedBlock{DType::kQ3_K, 108, -1, 40.5, -54, -27, -48, 32, 479, 88572.5, 0x96b0fbf8},
        WorkedBlock{DType::kQ4_K, 0, 2, 157.75, -12.75, 80.25, 157.75, 80.25, 27220, 3786420,
                    0xbe455e17},
        WorkedBlock{DType::kQ5_K, 0, 2, 405.75, -12.75, 80.25, 405.75, 80.25, 58108, 8013724,
                    0xca21f113},
        WorkedBlock{DType::kQ6_K, 208, -1, -715.5, 848, -159, -216, -48, 2306, 392210, 0x4f2ddbfc},
        WorkedBlock{DType::kIQ4_NL, 0, -1, -17.5, 12.5, -63.5, -17.5, .5, -128.5, -3459.5,
                    0xabc4cb08},
        WorkedBlock{DType::kIQ4_XS, 0, -1, 32.5, -.5, -44.5, 32.5, 17.5, -5502.5, -1045567,
                    0xa6ee454b},
        WorkedBlock{DType::kMXFP4, 0, -1, 0, 6, -3, 3, 6, 25, 638, 0xe26a8134}),
    [](const auto& param_info) { return std::string(to_text(param_info.param.dtype)); });

TEST(Format, a_zero_quant_keeps_the_sign_of_a_negative_scale) {
  std::vector<std::byte> block(18, std::byte{0x88});  // all codes 8 = 0
  block[0] = std::byte{0x00};
  block[1] = std::byte{0xB8};  // -0.5
  float y[32];
  dequantize(DType::kQ4_0, block.data(), 32, y);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y[0]), 0x80000000U);
}

TEST(Format, mxfp4_scales_reach_subnormals_and_infinity) {
  std::vector<std::byte> block(17,
                               std::byte{0x71});  // low code 1 (value 1), high code 7 (value 12)
  float y[32];
  dequantize(DType::kMXFP4, block.data(), 0, y);
  block[0] = std::byte{0};
  dequantize(DType::kMXFP4, block.data(), 32, y);
  EXPECT_EQ(y[0], 0x1p-128F);
  EXPECT_EQ(y[16], 12 * 0x1p-128F);
  block[0] = std::byte{1};
  dequantize(DType::kMXFP4, block.data(), 32, y);
  EXPECT_EQ(y[0], 0x1p-127F);
  block[0] = std::byte{255};
  dequantize(DType::kMXFP4, block.data(), 32, y);
  EXPECT_EQ(y[0], 0x1p127F);
  EXPECT_EQ(y[16], std::numeric_limits<float>::infinity());
}

TEST(Format, every_half_and_bfloat16_pattern_expands_to_its_definition) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    patterns[i] = static_cast<std::uint16_t>(i);
  }
  const std::byte* bytes = reinterpret_cast<const std::byte*>(patterns.data());
  std::vector<float> y(patterns.size());
  dequantize(DType::kF16, bytes, 65536, y.data());
  for (std::uint32_t h = 0; h < 65536; ++h) {
    const int exponent = static_cast<int>((h >> 10) & 31U);
    const double mantissa = static_cast<double>(h & 1023U);
    if (exponent == 31) {
      ASSERT_EQ((h & 1023U) != 0, std::isnan(y[h]));
      ASSERT_EQ((h & 1023U) == 0, std::isinf(y[h]));
    } else {
      const double magnitude =
          exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25);
      ASSERT_EQ(static_cast<double>(y[h]), (h & 0x8000U) != 0 ? -magnitude : magnitude) << h;
    }
    ASSERT_EQ(std::signbit(y[h]), (h & 0x8000U) != 0) << h;
  }
  dequantize(DType::kBF16, bytes, 65536, y.data());
  for (std::uint32_t b = 0; b < 65536; ++b) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(y[b]), b << 16);
  }
}

TEST(Format, only_weight_formats_can_be_quantised) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(can_quantize(dtype), traits(dtype).is_weight) << to_text(dtype);
  }
}

}  // namespace
}  // namespace plumb
