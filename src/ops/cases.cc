// SPDX-License-Identifier: Apache-2.0
#include "ops/cases.h"

#include <cstring>

#include "tensor/format.h"
#include "tensor/half.h"

namespace plumb {
namespace {

/// A half in a block that scales its quants: uniform in [low, high), of either sign if `is_signed`.
struct ScaleField {
  std::int64_t offset;
  float low;
  float high;
  bool is_signed;
};

/// The scales of a block format; all its other bytes may be anything.
std::vector<ScaleField> scale_fields(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0:
      return {{0, 0.005F, 0.02F, true}};
    case DType::kQ4_1:
      return {{0, 0.005F, 0.02F, false}, {2, -0.2F, 0.05F, false}};
    case DType::kQ5_0:
      return {{0, 0.003F, 0.01F, true}};
    case DType::kQ5_1:
      return {{0, 0.003F, 0.01F, false}, {2, -0.2F, 0.05F, false}};
    case DType::kQ8_0:
      return {{0, 0.0005F, 0.002F, true}};
    case DType::kQ2_K:
      return {{80, 0.002F, 0.008F, false}, {82, 0.002F, 0.01F, false}};
    case DType::kQ3_K:
      return {{108, 0.0005F, 0.002F, true}};
    case DType::kQ4_K:
      return {{0, 0.0001F, 0.0005F, false}, {2, 0.001F, 0.003F, false}};
    case DType::kQ5_K:
      return {{0, 0.00005F, 0.0002F, false}, {2, 0.001F, 0.003F, false}};
    case DType::kQ6_K:
      return {{208, 0.00002F, 0.0001F, true}};  // partly subnormal halves
    case DType::kIQ4_NL:
      return {{0, 0.0005F, 0.002F, true}};
    case DType::kIQ4_XS:
      return {{0, 0.00002F, 0.0001F, true}};
    default:
      return {};
  }
}

std::vector<std::byte> random_floats(DType dtype, std::int64_t count, CaseRng& rng) {
  const std::vector<float> values = rng.normals(count, 0.05F);
  if (dtype == DType::kF32) {
    return float_bytes(values);
  }
  std::vector<std::byte> raw(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half =
        dtype == DType::kF16 ? float_to_half(values[i]) : float_to_bfloat16(values[i]);
    std::memcpy(raw.data() + 2 * i, &half, sizeof half);
  }
  return raw;
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  add_embedding_cases(&cases);
  add_rms_norm_cases(&cases);
  add_linear_cases(&cases);
  add_rope_cases(&cases);
  add_glu_cases(&cases);
  add_kv_append_cases(&cases);
  add_paged_attention_cases(&cases);
  add_rows_cases(&cases);
  add_add_cases(&cases);
  add_layer_norm_cases(&cases);
  add_gelu_cases(&cases);
  add_varlen_attention_cases(&cases);
  add_pool_cases(&cases);
  return cases;
}

std::vector<DType> weight_formats() {
  std::vector<DType> formats;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (traits(static_cast<DType>(i)).is_weight) {
      formats.push_back(static_cast<DType>(i));
    }
  }
  return formats;
}

std::vector<std::byte> float_bytes(const std::vector<float>& values) {
  std::vector<std::byte> raw(values.size() * sizeof(float));
  if (!raw.empty()) {
    std::memcpy(raw.data(), values.data(), raw.size());
  }
  return raw;
}

std::vector<std::byte> random_weight(DType dtype, std::int64_t rows, std::int64_t cols,
                                     CaseRng& rng) {
  const DTypeTraits& t = traits(dtype);
  if (t.block_elems == 1) {
    return random_floats(dtype, rows * cols, rng);
  }
  std::vector<std::byte> raw(static_cast<std::size_t>(rows * row_bytes(dtype, cols)));
  if (dtype == DType::kQ13) {  // not every pattern of bits is one of its integers
    quantize(dtype, rng.normals(rows * cols).data(), rows * cols, raw.data());
    return raw;
  }
  for (std::byte& b : raw) {
    b = static_cast<std::byte>(rng.bits() >> 56);
  }
  const std::vector<ScaleField> fields = scale_fields(dtype);
  for (std::size_t at = 0; at < raw.size(); at += static_cast<std::size_t>(t.block_bytes)) {
    if (dtype == DType::kMXFP4) {
      raw[at] = static_cast<std::byte>(119 + rng.below(5));  // a power of two: 2^(e - 127)
    }
    for (const ScaleField& field : fields) {
      const float magnitude = rng.uniform(field.low, field.high);
      const bool negative = field.is_signed && (rng.bits() >> 63) != 0;
      const std::uint16_t half = float_to_half(negative ? -magnitude : magnitude);
      std::memcpy(raw.data() + at + static_cast<std::size_t>(field.offset), &half, sizeof half);
    }
  }
  return raw;
}

}  // namespace plumb
