// SPDX-License-Identifier: Apache-2.0
// The formats of 32 elements with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0. Byte j of a block's
// nibbles holds element j in its low half and element j + 16 in its high half.
#include "tensor/format_blocks.h"

namespace plumb {
namespace {

constexpr int kBlock = 32;

int fifth_bit(std::uint32_t bits, int element) {
  return static_cast<int>((bits >> element) & 1U) << 4;
}

}  // namespace

void dequantize_q4_0(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, source += 18, out += kBlock) {
    const float d = load_half(source);
    for (int j = 0; j < 16; ++j) {
      const int q = byte_at(source, 2 + j);
      out[j] = d * static_cast<float>((q & 15) - 8);
      out[j + 16] = d * static_cast<float>((q >> 4) - 8);
    }
  }
}

void dequantize_q4_1(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, source += 20, out += kBlock) {
    const float d = load_half(source);
    const float m = load_half(source + 2);
    for (int j = 0; j < 16; ++j) {
      const int q = byte_at(source, 4 + j);
      out[j] = d * static_cast<float>(q & 15) + m;
      out[j + 16] = d * static_cast<float>(q >> 4) + m;
    }
  }
}

void dequantize_q5_0(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, source += 22, out += kBlock) {
    const float d = load_half(source);
    const std::uint32_t high = load_u32(source + 2);
    for (int j = 0; j < 16; ++j) {
      const int q = byte_at(source, 6 + j);
      out[j] = d * static_cast<float>(((q & 15) | fifth_bit(high, j)) - 16);
      out[j + 16] = d * static_cast<float>(((q >> 4) | fifth_bit(high, j + 16)) - 16);
    }
  }
}

void dequantize_q5_1(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, source += 24, out += kBlock) {
    const float d = load_half(source);
    const float m = load_half(source + 2);
    const std::uint32_t high = load_u32(source + 4);
    for (int j = 0; j < 16; ++j) {
      const int q = byte_at(source, 8 + j);
      out[j] = d * static_cast<float>((q & 15) | fifth_bit(high, j)) + m;
      out[j + 16] = d * static_cast<float>((q >> 4) | fifth_bit(high, j + 16)) + m;
    }
  }
}

void dequantize_q8_0(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, source += 34, out += kBlock) {
    const float d = load_half(source);
    for (int j = 0; j < kBlock; ++j) {
      out[j] = d * static_cast<float>(static_cast<std::int8_t>(byte_at(source, 2 + j)));
    }
  }
}

namespace {

struct Range {
  float min;
  float max;
};

Range range_of(const float* x) {
  Range r{x[0], x[0]};
  for (int j = 1; j < kBlock; ++j) {
    r.min = std::fmin(r.min, x[j]);
    r.max = std::fmax(r.max, x[j]);
  }
  return r;
}

// Packs 32 codes below 16 as nibbles.
void store_nibbles(const int* q, std::byte* out) {
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<std::byte>((q[j] & 15) | ((q[j + 16] & 15) << 4));
  }
}

// Packs 32 codes below 32: the fifth bits as a 32-bit word, then the nibbles.
void store_five_bits(const int* q, std::byte* out) {
  std::uint32_t high = 0;
  for (int j = 0; j < kBlock; ++j) {
    high |= static_cast<std::uint32_t>(q[j] >> 4) << j;
  }
  std::memcpy(out, &high, sizeof high);
  store_nibbles(q, out + 4);
}

// Codes around a middle code `half`, scale stored at out: the extreme element gets code 0.
void symmetric_codes(const float* x, int half, std::byte* out, int* q) {
  const float d = signed_extreme(x, kBlock) / static_cast<float>(-half);
  const float inverse = reciprocal_or_zero(d);
  store_half(out, d);
  for (int j = 0; j < kBlock; ++j) {
    q[j] = floor_clamped(x[j] * inverse + (static_cast<float>(half) + 0.5F), 2 * half - 1);
  }
}

// Codes from the minimum up, scale and minimum stored at out.
void affine_codes(const float* x, int levels, std::byte* out, int* q) {
  const Range r = range_of(x);
  const float d = (r.max - r.min) / static_cast<float>(levels);
  const float inverse = reciprocal_or_zero(d);
  store_half(out, d);
  store_half(out + 2, r.min);
  for (int j = 0; j < kBlock; ++j) {
    q[j] = floor_clamped((x[j] - r.min) * inverse + 0.5F, levels);
  }
}

}  // namespace

void quantize_q4_0(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, out += 18) {
    int q[kBlock];
    symmetric_codes(source + i, 8, out, q);
    store_nibbles(q, out + 2);
  }
}

void quantize_q4_1(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, out += 20) {
    int q[kBlock];
    affine_codes(source + i, 15, out, q);
    store_nibbles(q, out + 4);
  }
}

void quantize_q5_0(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, out += 22) {
    int q[kBlock];
    symmetric_codes(source + i, 16, out, q);
    store_five_bits(q, out + 2);
  }
}

void quantize_q5_1(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, out += 24) {
    int q[kBlock];
    affine_codes(source + i, 31, out, q);
    store_five_bits(q, out + 4);
  }
}

void quantize_q8_0(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kBlock, out += 34) {
    const float* x = source + i;
    const float d = std::fabs(signed_extreme(x, kBlock)) / 127.0F;
    const float inverse = reciprocal_or_zero(d);
    store_half(out, d);
    for (int j = 0; j < kBlock; ++j) {
      out[2 + j] = static_cast<std::byte>(round_clamped(std::round(x[j] * inverse), -127, 127));
    }
  }
}

}  // namespace plumb
