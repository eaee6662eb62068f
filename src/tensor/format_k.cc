// SPDX-License-Identifier: Apache-2.0
// Unpacking of the K formats: super-blocks of 256 elements with two levels of scales.
#include "tensor/format_blocks.h"

namespace plumb {
namespace {

struct ScaleMin {
  int scale;
  int min;
};

// The 6-bit scale and minimum of sub-block i (0..7) from the 12 packed bytes of Q4_K and Q5_K.
ScaleMin packed_scale(const std::byte* s, int i) {
  if (i < 4) {
    return {byte_at(s, i) & 63, byte_at(s, i + 4) & 63};
  }
  return {(byte_at(s, i + 4) & 15) | ((byte_at(s, i - 4) >> 6) << 4),
          (byte_at(s, i + 4) >> 4) | ((byte_at(s, i) >> 6) << 4)};
}

}  // namespace

void dequantize_q2_k(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, source += 84, out += kSuper) {
    const std::byte* quants = source + 16;
    const float d = load_half(source + 80);
    const float dmin = load_half(source + 82);
    for (int j = 0; j < 16; ++j) {  // sub-blocks of 16; two share a bit pair of 32 bytes
      const int n = j / 8;
      const int shift = 2 * ((j % 8) / 2);
      const std::byte* q = quants + 32 * n + 16 * (j % 2);
      const int s = byte_at(source, j);
      const float scale = d * static_cast<float>(s & 15);
      const float min = dmin * static_cast<float>(s >> 4);
      for (int l = 0; l < 16; ++l) {
        out[16 * j + l] = scale * static_cast<float>((byte_at(q, l) >> shift) & 3) - min;
      }
    }
  }
}

void dequantize_q3_k(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, source += 110, out += kSuper) {
    const std::byte* scales = source + 96;
    const float d = load_half(source + 108);
    for (int j = 0; j < 16; ++j) {
      const int bit_pair = (j % 8) / 2;
      const std::byte* q = source + 32 + 32 * (j / 8) + 16 * (j % 2);
      const std::byte* mask = source + 16 * (j % 2);
      const int low = j < 8 ? byte_at(scales, j) & 15 : byte_at(scales, j - 8) >> 4;
      const int high = (byte_at(scales, 8 + j % 4) >> (2 * (j / 4))) & 3;
      const float scale = d * static_cast<float>((low | (high << 4)) - 32);
      for (int l = 0; l < 16; ++l) {
        const int bit = (byte_at(mask, l) >> (4 * (j / 8) + bit_pair)) & 1;
        const int code = ((byte_at(q, l) >> (2 * bit_pair)) & 3) - (bit != 0 ? 0 : 4);
        out[16 * j + l] = scale * static_cast<float>(code);
      }
    }
  }
}

void dequantize_q4_k(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, source += 144, out += kSuper) {
    const float d = load_half(source);
    const float dmin = load_half(source + 2);
    for (int j = 0; j < 8; ++j) {
      const ScaleMin sm = packed_scale(source + 4, j);
      const float scale = d * static_cast<float>(sm.scale);
      const float min = dmin * static_cast<float>(sm.min);
      const std::byte* q = source + 16 + 32 * (j / 2);
      const int shift = 4 * (j % 2);
      for (int l = 0; l < 32; ++l) {
        out[32 * j + l] = scale * static_cast<float>((byte_at(q, l) >> shift) & 15) - min;
      }
    }
  }
}

void dequantize_q5_k(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, source += 176, out += kSuper) {
    const float d = load_half(source);
    const float dmin = load_half(source + 2);
    const std::byte* high = source + 16;
    for (int j = 0; j < 8; ++j) {
      const ScaleMin sm = packed_scale(source + 4, j);
      const float scale = d * static_cast<float>(sm.scale);
      const float min = dmin * static_cast<float>(sm.min);
      const std::byte* q = source + 48 + 32 * (j / 2);
      const int shift = 4 * (j % 2);
      for (int l = 0; l < 32; ++l) {
        const int code = ((byte_at(q, l) >> shift) & 15) | (((byte_at(high, l) >> j) & 1) << 4);
        out[32 * j + l] = scale * static_cast<float>(code) - min;
      }
    }
  }
}

void dequantize_q6_k(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, source += 210, out += kSuper) {
    const std::byte* scales = source + 192;
    const float d = load_half(source + 208);
    for (int j = 0; j < 16; ++j) {
      const int n = j / 8;
      const int part = (j % 8) / 2;  // which 32 of the 128
      const std::byte* low = source + 64 * n + 32 * (part % 2) + 16 * (j % 2);
      const std::byte* high = source + 128 + 32 * n + 16 * (j % 2);
      const float scale = d * static_cast<float>(static_cast<std::int8_t>(byte_at(scales, j)));
      for (int l = 0; l < 16; ++l) {
        const int code = ((byte_at(low, l) >> (4 * (part / 2))) & 15) |
                         (((byte_at(high, l) >> (2 * part)) & 3) << 4);
        out[16 * j + l] = scale * static_cast<float>(code - 32);
      }
    }
  }
}

}  // namespace plumb
