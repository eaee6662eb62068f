// SPDX-License-Identifier: Apache-2.0
#include "tensor/format_blocks.h"

namespace plumb {

void dequantize_f32(const std::byte* source, std::int64_t num_elements, float* out) {
  std::memcpy(out, source, static_cast<std::size_t>(num_elements) * sizeof(float));
}

void dequantize_f16(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; ++i) {
    out[i] = load_half(source + 2 * i);
  }
}

void dequantize_bf16(const std::byte* source, std::int64_t num_elements, float* out) {
  for (std::int64_t i = 0; i < num_elements; ++i) {
    out[i] = bfloat16_to_float(load_u16(source + 2 * i));
  }
}

void quantize_f32(const float* source, std::int64_t num_elements, std::byte* out) {
  std::memcpy(out, source, static_cast<std::size_t>(num_elements) * sizeof(float));
}

void quantize_f16(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; ++i) {
    store_half(out + 2 * i, source[i]);
  }
}

void quantize_bf16(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; ++i) {
    store_u16(out + 2 * i, float_to_bfloat16(source[i]));
  }
}

}  // namespace plumb
