// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "tensor/format_blocks.h"

// A block is d f32, then 128 x i16 q from -4095 to 4095; a number is d * q.
namespace plumb {
namespace {

constexpr std::int64_t kQ13Bytes = 4 + 2 * kQ13Block;

}  // namespace

void dequantize_q13(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kQ13Block, source += kQ13Bytes) {
    const float d = std::bit_cast<float>(load_u32(source));
    for (int j = 0; j < kQ13Block; ++j) {
      const auto q = static_cast<std::int16_t>(load_u16(source + 4 + 2 * j));
      out[i + j] = d * static_cast<float>(q);
    }
  }
}

void quantize_q13(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kQ13Block, out += kQ13Bytes) {
    const float largest = std::fabs(signed_extreme(source + i, kQ13Block));
    const bool is_zero = largest < kTiny;
    const float d = is_zero ? 0.0F : largest / static_cast<float>(kQ13Most);
    const float inverse = is_zero ? 0.0F : static_cast<float>(kQ13Most) / largest;
    std::memcpy(out, &d, sizeof d);
    for (int j = 0; j < kQ13Block; ++j) {
      const int q = round_clamped(source[i + j] * inverse, -kQ13Most, kQ13Most);
      store_u16(out + 4 + 2 * j, static_cast<std::uint16_t>(q));
    }
  }
}

}  // namespace plumb
