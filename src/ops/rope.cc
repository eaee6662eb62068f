// SPDX-License-Identifier: Apache-2.0
#include "ops/rope.h"

#include <string>

#include "ops/shape_check.h"

namespace plumb {

Status validate(const Rope& args) {
  Dim T("T");
  Dim Hx("Hx");
  Dim D("D");
  Dim half("R/2");
  ShapeCheck c("rope");
  c.match("x", args.x, DType::kF32, {T, Hx, D})
      .match_dense("positions", args.positions, DType::kI32, {T})
      .match_dense("inv_freq", args.inv_freq, DType::kF32, {half});
  c.require(2 * half.value() <= D.value(),
            "R=" + std::to_string(2 * half.value()) + " is above D=" + std::to_string(D.value()));
  return c.status();
}

Cost cost(const Rope& args) {
  const std::int64_t rotated = 2 * args.inv_freq.dim(0);
  const std::int64_t count = args.x.dim(0) * args.x.dim(1) * rotated;
  return {.flops = 3 * count,
          .bytes_read = 4 * count + 4 * args.positions.dim(0) + 2 * rotated,
          .bytes_written = 4 * count};
}

}  // namespace plumb
