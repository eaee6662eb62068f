// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plumb {

/// Element types of tensors. From kQ4_0 on a type is a block format: `block_elems` neighbouring
/// elements of a row share `block_bytes` bytes. Source: the GGUF and safetensors type tables.
enum class DType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kF64,
  kI8,
  kU8,
  kI16,
  kI32,
  kI64,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  kQ13,  ///< Plumb's own, in memory only: 128 integers of 13 bits, kept in 16, and a scale in f32
};
inline constexpr int kNumDTypes = 23;

struct DTypeTraits {
  std::string_view name;  ///< as GGUF spells it: "Q4_K", "F32"
  std::int64_t block_elems;
  std::int64_t block_bytes;
  bool is_weight;  ///< a format that linear and embedding accept for weights
};

const DTypeTraits& traits(DType dtype);
std::string_view to_text(DType dtype);
std::optional<DType> dtype_from_text(std::string_view name);

/// Bytes of one row of `cols` elements. Requires cols is a multiple of the block length.
std::int64_t row_bytes(DType dtype, std::int64_t cols);

}  // namespace plumb
