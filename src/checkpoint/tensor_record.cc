// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tensor_record.h"

#include <algorithm>

namespace plumb {

Result<Shape> shape_of(const TensorRecord& record) {
  const std::vector<std::int64_t>& d = record.dims;
  switch (d.size()) {
    case 0:
      return Shape{};
    case 1:
      return Shape{d[0]};
    case 2:
      return Shape{d[0], d[1]};
    case 3:
      return Shape{d[0], d[1], d[2]};
    case 4:
      return Shape{d[0], d[1], d[2], d[3]};
    default:
      return Status{Code::kUnsupported, "tensor '" + record.name + "' has " +
                                            std::to_string(d.size()) + " dimensions, at most " +
                                            std::to_string(kMaxRank) + " can be loaded"};
  }
}

std::int64_t num_elements(const TensorRecord& record) {
  std::int64_t product = 0;
  multiply_dims(record.dims, &product);
  return product;
}

std::string dims_to_text(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (const std::int64_t d : dims) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(d);
  }
  return text + "]";
}

bool multiply_dims(const std::vector<std::int64_t>& dims, std::int64_t* product) {
  *product = 1;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    *product = 0;
    return true;
  }
  return std::all_of(dims.begin(), dims.end(),
                     [&](std::int64_t d) { return !__builtin_mul_overflow(*product, d, product); });
}

std::vector<std::uint32_t> order_by_name(const std::vector<TensorRecord>& records) {
  std::vector<std::uint32_t> order(records.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::uint32_t>(i);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int compared = records[a].name.compare(records[b].name);
    return compared != 0 ? compared < 0 : a < b;
  });
  return order;
}

const TensorRecord* find_by_name(const std::vector<TensorRecord>& records,
                                 const std::vector<std::uint32_t>& order, std::string_view name) {
  const auto it =
      std::lower_bound(order.begin(), order.end(), name,
                       [&](std::uint32_t i, std::string_view n) { return records[i].name < n; });
  return it != order.end() && records[*it].name == name ? &records[*it] : nullptr;
}

}  // namespace plumb
