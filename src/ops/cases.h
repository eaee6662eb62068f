// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/case_device.h"
#include "ops/case_rng.h"
#include "tensor/dtype.h"

namespace plumb {

/// One call of an op that every back end must pass.
///
/// `body` makes the inputs on the device it is given, runs the op once and names the results; two
/// runs make the same inputs.
struct OpCase {
  std::string_view op;  ///< of the op list
  std::string name;     ///< unique within the op
  std::function<void(CaseDevice&)> body;
};

/// All cases in the order of the op list: worked by hand, empty, one, odd, largest.
std::vector<OpCase> op_cases();

void add_embedding_cases(std::vector<OpCase>* cases);
void add_rms_norm_cases(std::vector<OpCase>* cases);
void add_linear_cases(std::vector<OpCase>* cases);
void add_rope_cases(std::vector<OpCase>* cases);
void add_glu_cases(std::vector<OpCase>* cases);
void add_kv_append_cases(std::vector<OpCase>* cases);
void add_paged_attention_cases(std::vector<OpCase>* cases);
void add_rows_cases(std::vector<OpCase>* cases);
void add_add_cases(std::vector<OpCase>* cases);
void add_layer_norm_cases(std::vector<OpCase>* cases);
void add_gelu_cases(std::vector<OpCase>* cases);
void add_varlen_attention_cases(std::vector<OpCase>* cases);
void add_pool_cases(std::vector<OpCase>* cases);

/// The weight formats, F32 first.
std::vector<DType> weight_formats();

/// A matrix of a format with every bit pattern of its quants and values of about 0.05.
/// Requires cols is a multiple of the block length.
std::vector<std::byte> random_weight(DType dtype, std::int64_t rows, std::int64_t cols,
                                     CaseRng& rng);

/// The bytes of a float matrix, for weights worked by hand.
std::vector<std::byte> float_bytes(const std::vector<float>& values);

}  // namespace plumb
