// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace plumb {

/// Expands `num_elements` of a weight format to float32: bit-exact values of the format's
/// definition.
///
/// Requires num_elements is a multiple of the block length; `source` may be unaligned.
/// Numerics  one rounding at most per element; subnormals are kept.
/// Source    the GGUF block formats.
void dequantize(DType dtype, const std::byte* source, std::int64_t num_elements, float* out);

/// Packs floats into a weight format with the reference quantiser of that format.
/// Requires num_elements is a multiple of the block length and `can_quantize(dtype)`.
void quantize(DType dtype, const float* source, std::int64_t num_elements, std::byte* out);
bool can_quantize(DType dtype);

}  // namespace plumb
