// SPDX-License-Identifier: Apache-2.0
#include "tensor/workspace.h"

#include <algorithm>
#include <string>

namespace plumb {

Result<Workspace> Workspace::create(Allocator& allocator, std::int64_t num_bytes) {
  Workspace workspace;
  PLUMB_ASSIGN(workspace.memory_, allocator.allocate(std::max<std::int64_t>(num_bytes, 64)));
  return workspace;
}

Tensor Workspace::allocate(DType dtype, const Shape& shape) {
  const DTypeTraits& t = traits(dtype);
  const std::int64_t num_bytes = shape.num_elements() / t.block_elems * t.block_bytes;
  const std::int64_t begin = (used_ + 63) / 64 * 64;
  used_ = begin + num_bytes;
  peak_ = std::max(peak_, used_);
  if (is_measuring()) {
    return Tensor::dense(nullptr, dtype, shape);
  }
  PLUMB_CHECK(used_ <= memory_.num_bytes(), "workspace of " + std::to_string(memory_.num_bytes()) +
                                                " bytes is short of " + std::to_string(used_));
  return Tensor::dense(static_cast<char*>(memory_.address()) + begin, dtype, shape);
}

}  // namespace plumb
