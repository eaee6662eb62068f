// SPDX-License-Identifier: Apache-2.0
#include "ops/weight.h"

#include "tensor/format.h"

namespace plumb {
namespace {

void unpack_file_row(const Weight& weight, std::int64_t row, float* out) {
  const std::int64_t stride = row_bytes(weight.dtype(), weight.cols());
  dequantize(weight.dtype(), weight.bytes().data() + row * stride, weight.cols(), out);
}

constexpr WeightLayout kRows{"rows", unpack_file_row};

}  // namespace

const WeightLayout& rows_layout() {
  return kRows;
}

}  // namespace plumb
