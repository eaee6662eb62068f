// SPDX-License-Identifier: Apache-2.0
#include "ops/add.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const Add& args) {
  Dim T("T");
  Dim H("H");
  ShapeCheck c("add");
  c.match("x", args.x, DType::kF32, {T, H})
      .match("y", args.y, DType::kF32, {T, H})
      .disjoint("y", args.y, "x", args.x);
  return c.status();
}

Cost cost(const Add& args) {
  const std::int64_t count = args.x.num_elements();
  return {.flops = count, .bytes_read = 8 * count, .bytes_written = 4 * count};
}

}  // namespace plumb
