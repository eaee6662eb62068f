// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/half.h"

namespace plumb {

/// Elements of a super-block of the K formats.
inline constexpr int kSuper = 256;
/// Elements of a block of Q13, and the largest of its integers: 128 products of two such integers
/// fit 31 bits.
inline constexpr int kQ13Block = 128;
inline constexpr int kQ13Most = 4095;
/// Below this magnitude a block counts as zero, so that no reciprocal overflows.
inline constexpr float kTiny = 1e-15F;

// The functions behind tensor/format.h, one pair per format, and what they share. Each takes whole
// blocks; packed bytes may be unaligned.

using DequantizeFn = void (*)(const std::byte* source, std::int64_t num_elements, float* out);
using QuantizeFn = void (*)(const float* source, std::int64_t num_elements, std::byte* out);

void dequantize_f32(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_f16(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_bf16(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q4_0(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q4_1(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q5_0(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q5_1(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q8_0(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q2_k(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q3_k(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q4_k(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q5_k(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q6_k(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_iq4_nl(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_iq4_xs(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_mxfp4(const std::byte* source, std::int64_t num_elements, float* out);
void dequantize_q13(const std::byte* source, std::int64_t num_elements, float* out);

void quantize_f32(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_f16(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_bf16(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q4_0(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q4_1(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q5_0(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q5_1(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q8_0(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q2_k(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q3_k(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q4_k(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q5_k(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q6_k(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_iq4_nl(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_iq4_xs(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_mxfp4(const float* source, std::int64_t num_elements, std::byte* out);
void quantize_q13(const float* source, std::int64_t num_elements, std::byte* out);

/// The sixteen values of the IQ4 codes, ascending.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

inline std::uint8_t byte_at(const std::byte* p, std::int64_t i) {
  return std::to_integer<std::uint8_t>(p[i]);
}

inline std::uint16_t load_u16(const std::byte* p) {
  std::uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline std::uint32_t load_u32(const std::byte* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline float load_half(const std::byte* p) {
  return half_to_float(load_u16(p));
}

inline void store_u16(std::byte* p, std::uint16_t v) {
  std::memcpy(p, &v, sizeof v);
}

inline void store_half(std::byte* p, float v) {
  store_u16(p, float_to_half(v));
}

/// Nearest integer (ties to even) clamped to [low, high]; NaN gives low.
inline int round_clamped(float v, int low, int high) {
  if (!(v > static_cast<float>(low))) {
    return low;
  }
  return v >= static_cast<float>(high) ? high : static_cast<int>(std::nearbyint(v));
}

/// floor of a value that is not negative, clamped to [0, high]; NaN gives 0.
inline int floor_clamped(float v, int high) {
  if (!(v > 0.0F)) {
    return 0;
  }
  return v >= static_cast<float>(high) ? high : static_cast<int>(v);
}

/// The first element of largest magnitude, with its sign; 0 for an all-zero block.
inline float signed_extreme(const float* x, int n) {
  float magnitude = 0.0F;
  float extreme = 0.0F;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > magnitude) {
      magnitude = std::fabs(x[i]);
      extreme = x[i];
    }
  }
  return extreme;
}

/// 1 / v, and 0 for v = 0.
inline float reciprocal_or_zero(float v) {
  return v != 0.0F ? 1.0F / v : 0.0F;
}

}  // namespace plumb
