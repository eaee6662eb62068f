// SPDX-License-Identifier: Apache-2.0
// The four-bit formats whose codes index a table: IQ4_NL, IQ4_XS, MXFP4.
#include <bit>

#include "tensor/format_blocks.h"

namespace plumb {
namespace {

// E2M1 doubled, so that all values are integers; the scale is halved to match. Code 8 is +0.
constexpr std::int8_t kE2m1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e - 128), with the two subnormal cases spelled out.
float halved_power_of_two(std::uint8_t e) {
  if (e < 2) {
    return std::bit_cast<float>(std::uint32_t{0x00200000U} << e);
  }
  return std::bit_cast<float>((static_cast<std::uint32_t>(e) - 1U) << 23);
}

// 16 bytes: 16 low nibbles, then 16 high ones.
void expand_nibbles(const std::byte* q, const std::int8_t* table, float scale, float* out) {
  for (int j = 0; j < 16; ++j) {
    out[j] = scale * static_cast<float>(table[byte_at(q, j) & 15]);
    out[j + 16] = scale * static_cast<float>(table[byte_at(q, j) >> 4]);
  }
}

// Nearest of the doubled E2M1 values times d; ties go to the lowest code.
int nearest_e2m1(float x, float d) {
  int best = 0;
  float best_distance = std::fabs(x);
  for (int code = 1; code < 16; ++code) {
    const float distance = std::fabs(d * static_cast<float>(kE2m1Doubled[code]) - x);
    if (distance < best_distance) {
      best = code;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

void dequantize_iq4_nl(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += 32, source += 18, out += 32) {
    expand_nibbles(source + 2, kIq4Values, load_half(source), out);
  }
}

void dequantize_iq4_xs(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += 256, source += 136, out += 256) {
    const float d = load_half(source);
    const int scales_high = load_u16(source + 2);
    for (int j = 0; j < 8; ++j) {
      const int low = (byte_at(source, 4 + j / 2) >> (4 * (j % 2))) & 15;
      const int scale = low | (((scales_high >> (2 * j)) & 3) << 4);
      expand_nibbles(source + 8 + 16 * j, kIq4Values, d * static_cast<float>(scale - 32),
                     out + 32 * j);
    }
  }
}

void dequantize_mxfp4(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += 32, source += 17, out += 32) {
    expand_nibbles(source + 1, kE2m1Doubled, halved_power_of_two(byte_at(source, 0)), out);
  }
}

void quantize_mxfp4(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += 32, out += 17) {
    const float* x = source + i;
    const float largest = std::fabs(signed_extreme(x, 32));
    const int exponent =
        largest > 0.0F ? round_clamped(std::floor(std::log2(largest)) + 125.0F, 0, 254) : 0;
    const float d = halved_power_of_two(static_cast<std::uint8_t>(exponent));
    out[0] = static_cast<std::byte>(exponent);
    for (int j = 0; j < 16; ++j) {
      out[1 + j] =
          static_cast<std::byte>(nearest_e2m1(x[j], d) | (nearest_e2m1(x[j + 16], d) << 4));
    }
  }
}

}  // namespace plumb
