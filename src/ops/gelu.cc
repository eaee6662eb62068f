// SPDX-License-Identifier: Apache-2.0
#include "ops/gelu.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const Gelu& args) {
  Dim T("T");
  Dim I("I");
  ShapeCheck c("gelu");
  c.match("x", args.x, DType::kF32, {T, I})
      .match("y", args.y, DType::kF32, {T, I})
      .same_or_disjoint("y", args.y, "x", args.x);
  return c.status();
}

Cost cost(const Gelu& args) {
  const std::int64_t count = args.y.num_elements();
  // exp, a polynomial of five terms and a division.
  return {.flops = 12 * count, .bytes_read = 4 * count, .bytes_written = 4 * count};
}

}  // namespace plumb
