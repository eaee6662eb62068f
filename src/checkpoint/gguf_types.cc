// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf_types.h"

#include <algorithm>
#include <array>

namespace plumb {
namespace {

constexpr GgufTensorType own(std::int32_t id, std::string_view name, std::int64_t block_elems,
                             std::int64_t block_bytes, DType dtype) {
  return {id, name, block_elems, block_bytes, dtype};
}

constexpr GgufTensorType listed(std::int32_t id, std::string_view name, std::int64_t block_elems,
                                std::int64_t block_bytes) {
  return {id, name, block_elems, block_bytes, std::nullopt};
}

constexpr std::array<GgufTensorType, 34> kGgufTypes{{
    own(0, "F32", 1, 4, DType::kF32),
    own(1, "F16", 1, 2, DType::kF16),
    own(2, "Q4_0", 32, 18, DType::kQ4_0),
    own(3, "Q4_1", 32, 20, DType::kQ4_1),
    own(6, "Q5_0", 32, 22, DType::kQ5_0),
    own(7, "Q5_1", 32, 24, DType::kQ5_1),
    own(8, "Q8_0", 32, 34, DType::kQ8_0),
    listed(9, "Q8_1", 32, 36),
    own(10, "Q2_K", 256, 84, DType::kQ2_K),
    own(11, "Q3_K", 256, 110, DType::kQ3_K),
    own(12, "Q4_K", 256, 144, DType::kQ4_K),
    own(13, "Q5_K", 256, 176, DType::kQ5_K),
    own(14, "Q6_K", 256, 210, DType::kQ6_K),
    listed(15, "Q8_K", 256, 292),
    listed(16, "IQ2_XXS", 256, 66),
    listed(17, "IQ2_XS", 256, 74),
    listed(18, "IQ3_XXS", 256, 98),
    listed(19, "IQ1_S", 256, 50),
    own(20, "IQ4_NL", 32, 18, DType::kIQ4_NL),
    listed(21, "IQ3_S", 256, 110),
    listed(22, "IQ2_S", 256, 82),
    own(23, "IQ4_XS", 256, 136, DType::kIQ4_XS),
    own(24, "I8", 1, 1, DType::kI8),
    own(25, "I16", 1, 2, DType::kI16),
    own(26, "I32", 1, 4, DType::kI32),
    own(27, "I64", 1, 8, DType::kI64),
    own(28, "F64", 1, 8, DType::kF64),
    listed(29, "IQ1_M", 256, 56),
    own(30, "BF16", 1, 2, DType::kBF16),
    listed(34, "TQ1_0", 256, 54),
    listed(35, "TQ2_0", 256, 66),
    own(39, "MXFP4", 32, 17, DType::kMXFP4),
    listed(40, "NVFP4", 64, 36),
    listed(41, "Q1_0", 128, 18),
}};

}  // namespace

const GgufTensorType* gguf_tensor_type(std::int32_t id) {
  const auto it = std::find_if(kGgufTypes.begin(), kGgufTypes.end(),
                               [&](const GgufTensorType& t) { return t.id == id; });
  return it == kGgufTypes.end() ? nullptr : &*it;
}

std::optional<std::int32_t> gguf_type_id(DType dtype) {
  for (const GgufTensorType& t : kGgufTypes) {
    if (t.dtype == dtype) {
      return t.id;
    }
  }
  return std::nullopt;
}

}  // namespace plumb
