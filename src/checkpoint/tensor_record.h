// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace plumb {

/// Where one tensor lies in the files of a checkpoint, as their headers say it. The reader that
/// made it has proved that the bytes are inside the file and fit type and dimensions.
struct TensorRecord {
  std::string name;
  std::string type_name;           ///< as the file spells it: "Q4_K", "F8_E4M3"
  std::optional<DType> dtype;      ///< absent: the file's type has no DType; it can be listed only
  std::vector<std::int64_t> dims;  ///< slowest first; empty = one element
  int file_index = 0;              ///< of the checkpoint's files
  std::uint64_t file_offset = 0;   ///< of the first byte in that file
  std::uint64_t num_bytes = 0;
};

/// The shape of a record. Errors kUnsupported: more than kMaxRank dimensions.
Result<Shape> shape_of(const TensorRecord& record);
/// Product of the dimensions. Requires a record of a reader (it cannot overflow).
std::int64_t num_elements(const TensorRecord& record);
/// "[49152, 576]".
std::string dims_to_text(const std::vector<std::int64_t>& dims);

/// Product of dimensions that are not negative; false if it does not fit in int64.
bool multiply_dims(const std::vector<std::int64_t>& dims, std::int64_t* product);

/// Indices of `records` ordered by name, for look-up by binary search.
std::vector<std::uint32_t> order_by_name(const std::vector<TensorRecord>& records);
/// The record of that name, or nullptr. Requires `order` is order_by_name(records).
const TensorRecord* find_by_name(const std::vector<TensorRecord>& records,
                                 const std::vector<std::uint32_t>& order, std::string_view name);

}  // namespace plumb
