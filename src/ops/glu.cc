// SPDX-License-Identifier: Apache-2.0
#include "ops/glu.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const Glu& args) {
  Dim T("T");
  Dim I("I");
  ShapeCheck c("glu");
  c.match("gate", args.gate, DType::kF32, {T, I})
      .match("up", args.up, DType::kF32, {T, I})
      .match("y", args.y, DType::kF32, {T, I})
      .same_or_disjoint("y", args.y, "gate", args.gate)
      .same_or_disjoint("y", args.y, "up", args.up);
  return c.status();
}

Cost cost(const Glu& args) {
  const std::int64_t count = args.y.num_elements();
  // exp, two additions or multiplications, a division and the product with up.
  return {.flops = 5 * count, .bytes_read = 8 * count, .bytes_written = 4 * count};
}

}  // namespace plumb
