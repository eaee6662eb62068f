// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

namespace plumb {

Shape::Shape(std::initializer_list<std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  PLUMB_CHECK(dims.size() <= kMaxRank, "rank " + std::to_string(dims.size()) + " is above 4");
  std::size_t i = 0;
  for (const std::int64_t d : dims) {
    dims_[i++] = d;
  }
}

std::int64_t Shape::num_elements() const {
  std::int64_t n = 1;
  for (int i = 0; i < rank_; ++i) {
    n *= (*this)[i];
  }
  return n;
}

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

Tensor Tensor::dense(void* address, DType dtype, const Shape& shape) {
  std::int64_t stride = 1;
  for (int i = 1; i < shape.rank(); ++i) {
    stride *= shape[i];
  }
  return {address, dtype, shape, stride};
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t count) const {
  PLUMB_CHECK(
      begin >= 0 && count >= 0 && begin + count <= shape[0],
      "rows [" + std::to_string(begin) + ", +" + std::to_string(count) + ") of " + to_text(shape));
  const DTypeTraits& t = traits(dtype);
  Tensor part = *this;
  if (address != nullptr) {
    part.address = static_cast<char*>(address) + begin * row_stride / t.block_elems * t.block_bytes;
  }
  switch (shape.rank()) {
    case 1:
      part.shape = {count};
      break;
    case 2:
      part.shape = {count, shape[1]};
      break;
    case 3:
      part.shape = {count, shape[1], shape[2]};
      break;
    default:
      part.shape = {count, shape[1], shape[2], shape[3]};
      break;
  }
  return part;
}

Tensor Tensor::reshaped(const Shape& to) const {
  PLUMB_CHECK(to.num_elements() == num_elements(),
              to_text(shape) + " cannot become " + to_text(to));
  if (to.rank() > 0 && shape.rank() > 0 && to[0] == shape[0] && !is_dense()) {
    return {address, dtype, to, row_stride};
  }
  PLUMB_CHECK(is_dense(), "a strided " + to_text(shape) + " cannot become " + to_text(to));
  return dense(address, dtype, to);
}

}  // namespace plumb
