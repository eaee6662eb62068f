// SPDX-License-Identifier: Apache-2.0
#include "ops/pool.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const Pool& args) {
  Dim T("T");
  Dim H("H");
  Dim B("B");
  ShapeCheck c("pool");
  c.match("x", args.x, DType::kF32, {T, H}).match("y", args.y, DType::kF32, {B, H});
  if (!c.status().ok()) {
    return c.status();
  }
  c.match_dense("cu_seqlens", args.cu_seqlens, DType::kI32, {B.value() + 1})
      .require(H.value() != 0, "H=0, expected at least 1")
      .disjoint("y", args.y, "x", args.x);
  return c.status();
}

Cost cost(const Pool& args) {
  const std::int64_t rows = args.pooling == Pooling::kMean ? args.x.dim(0) : args.y.dim(0);
  const std::int64_t count = args.y.num_elements();
  return {.flops = rows * args.x.dim(1) + count,
          .bytes_read = 4 * rows * args.x.dim(1),
          .bytes_written = 4 * count};
}

}  // namespace plumb
