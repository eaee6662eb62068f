// SPDX-License-Identifier: Apache-2.0
#include "tensor/format.h"

#include <string>

#include "base/check.h"
#include "tensor/format_blocks.h"

namespace plumb {
namespace {

struct FormatFns {
  DequantizeFn dequantize;
  QuantizeFn quantize;
};

FormatFns functions_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {dequantize_f32, quantize_f32};
    case DType::kF16:
      return {dequantize_f16, quantize_f16};
    case DType::kBF16:
      return {dequantize_bf16, quantize_bf16};
    case DType::kQ4_0:
      return {dequantize_q4_0, quantize_q4_0};
    case DType::kQ4_1:
      return {dequantize_q4_1, quantize_q4_1};
    case DType::kQ5_0:
      return {dequantize_q5_0, quantize_q5_0};
    case DType::kQ5_1:
      return {dequantize_q5_1, quantize_q5_1};
    case DType::kQ8_0:
      return {dequantize_q8_0, quantize_q8_0};
    case DType::kQ2_K:
      return {dequantize_q2_k, quantize_q2_k};
    case DType::kQ3_K:
      return {dequantize_q3_k, quantize_q3_k};
    case DType::kQ4_K:
      return {dequantize_q4_k, quantize_q4_k};
    case DType::kQ5_K:
      return {dequantize_q5_k, quantize_q5_k};
    case DType::kQ6_K:
      return {dequantize_q6_k, quantize_q6_k};
    case DType::kIQ4_NL:
      return {dequantize_iq4_nl, quantize_iq4_nl};
    case DType::kIQ4_XS:
      return {dequantize_iq4_xs, quantize_iq4_xs};
    case DType::kMXFP4:
      return {dequantize_mxfp4, quantize_mxfp4};
    case DType::kQ13:
      return {dequantize_q13, quantize_q13};
    default:
      return {nullptr, nullptr};
  }
}

void check_call(DType dtype, std::int64_t num_elements) {
  const DTypeTraits& t = traits(dtype);
  PLUMB_CHECK(t.is_weight, std::string(t.name) + " is not a weight format");
  PLUMB_CHECK(
      num_elements >= 0 && num_elements % t.block_elems == 0,
      std::to_string(num_elements) + " elements are not whole blocks of " + std::string(t.name));
}

}  // namespace

void dequantize(DType dtype, const std::byte* source, std::int64_t num_elements, float* out) {
  check_call(dtype, num_elements);
  functions_of(dtype).dequantize(source, num_elements, out);
}

void quantize(DType dtype, const float* source, std::int64_t num_elements, std::byte* out) {
  check_call(dtype, num_elements);
  functions_of(dtype).quantize(source, num_elements, out);
}

bool can_quantize(DType dtype) {
  return functions_of(dtype).quantize != nullptr;
}

}  // namespace plumb
