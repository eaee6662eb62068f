// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/panel_codes.h"

// d = amax / 127, q = round to nearest even (x * 127 / amax) for each 32 elements of a row.
// A NaN or an infinity in x makes d one, and so every product of the block.
namespace plumb::PLUMB_ISA {
namespace {

struct BlockScale {
  float d;
  float inverse;
};

inline BlockScale block_scale(const float* x) {
  // As integers, magnitudes of floats are ordered and a NaN is the largest.
  const I magnitude = i_set(0x7FFFFFFF);
  I largest = i_zero();
#pragma GCC unroll 4
  for (int i = 0; i < 32; i += kLanes) {
    largest = i_max_unsigned(largest, i_and(i_bits(f_load(x + i)), magnitude));
  }
  const std::uint32_t bits = i_largest_unsigned(largest);
  float amax;
  __builtin_memcpy(&amax, &bits, sizeof amax);
  if (amax < 1e-30F) {  // 127 / amax would overflow near 0
    return {0.0F, 0.0F};
  }
  return {amax / 127.0F, 127.0F / amax};
}

/// Writes q of 16 elements and returns their sum (modulo 2^32: without meaning when d is NaN).
inline std::uint32_t quantize_half(const float* x, float inverse, unsigned char* q) {
  I sum = i_zero();
#pragma GCC unroll 2
  for (int i = 0; i < 16; i += kLanes) {
    const I rounded = i_from_f(f_mul(f_load(x + i), f_set(inverse)));
    sum = i_add(sum, rounded);
    i_store_i8(q + i, rounded);
  }
  return static_cast<std::uint32_t>(i_sum(sum));
}

inline void put_u32(unsigned char* p, std::uint32_t v) {
  __builtin_memcpy(p, &v, sizeof v);
}

inline void put_f32(unsigned char* p, float v) {
  __builtin_memcpy(p, &v, sizeof v);
}

inline float as_float(std::uint32_t sum) {
  return static_cast<float>(static_cast<std::int32_t>(sum));
}

void quantize_tile(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t k,
                   bool halves, unsigned char* out) {
  constexpr std::int64_t kHalvesBytes = cpu::kXBlockBytes - cpu::kXMainBytes;
  unsigned char* half_out = out + rows * (k / 32) * cpu::kXMainBytes;
  for (std::int64_t b = 0; b < k / 32; ++b) {
    unsigned char* d = out + rows * 32;
    for (std::int64_t t = 0; t < rows; ++t) {
      const float* block = x + t * x_stride + b * 32;
      const BlockScale scale = block_scale(block);
      const std::uint32_t sum0 = quantize_half(block, scale.inverse, out + t * 32);
      const std::uint32_t sum1 = quantize_half(block + 16, scale.inverse, out + t * 32 + 16);
      put_f32(d + 4 * t, scale.d);
      put_u32(d + 4 * (rows + t), 0U - (sum0 + sum1));
      put_f32(d + 4 * (2 * rows + t), scale.d * as_float(sum0 + sum1));
      if (halves) {
        put_u32(half_out + 4 * t, 0U - sum0);
        put_u32(half_out + 4 * (rows + t), 0U - sum1);
        put_f32(half_out + 4 * (2 * rows + t), scale.d * as_float(sum0));
        put_f32(half_out + 4 * (3 * rows + t), scale.d * as_float(sum1));
      }
    }
    out += rows * cpu::kXMainBytes;
    half_out += rows * kHalvesBytes;
  }
}

}  // namespace

void add_quantize(cpu::KernelTable* table) {
  table->quantize_tile = quantize_tile;
}

}  // namespace plumb::PLUMB_ISA
