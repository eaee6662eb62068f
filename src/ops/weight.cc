// SPDX-License-Identifier: Apache-2.0
#include "ops/weight.h"

#include <string>

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

Status validate(const RawMatrix& raw) {
  const DTypeTraits& t = traits(raw.dtype);
  const std::string shape =
      std::string(t.name) + " [" + std::to_string(raw.rows) + ", " + std::to_string(raw.cols) + "]";
  if (!t.is_weight) {
    return {Code::kUnsupported, "matrix " + shape + ": not a weight format"};
  }
  if (raw.rows < 0 || raw.cols < 0 || raw.cols % t.block_elems != 0) {
    return {Code::kInvalidArgument, "matrix " + shape + ": columns must be whole blocks of " +
                                        std::to_string(t.block_elems)};
  }
  const auto num_bytes = static_cast<std::int64_t>(raw.bytes.size());
  const std::int64_t bytes_per_row = row_bytes(raw.dtype, raw.cols);
  const bool fits = bytes_per_row == 0 || raw.rows == 0
                        ? num_bytes == 0
                        : num_bytes % bytes_per_row == 0 && num_bytes / bytes_per_row == raw.rows;
  if (!fits) {
    return {Code::kInvalidArgument, "matrix " + shape + ": " + std::to_string(num_bytes) +
                                        " bytes, expected rows of " +
                                        std::to_string(bytes_per_row)};
  }
  return {};
}

}  // namespace plumb
