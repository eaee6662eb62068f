// SPDX-License-Identifier: Apache-2.0
#include "ops/rms_norm.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const RmsNorm& args) {
  Dim T("T");
  Dim H("H");
  ShapeCheck c("rms_norm");
  c.match("x", args.x, DType::kF32, {T, H})
      .match_dense("weight", args.weight, DType::kF32, {H})
      .match("y", args.y, DType::kF32, {T, H})
      .require(H.value() != 0, "H=0, expected at least 1")
      .require(args.eps >= 0.0F, "eps is negative")
      .same_or_disjoint("y", args.y, "x", args.x)
      .disjoint("y", args.y, "weight", args.weight);
  return c.status();
}

Cost cost(const RmsNorm& args) {
  const std::int64_t count = args.x.num_elements();
  return {.flops = 4 * count,
          .bytes_read = 4 * count + 4 * args.weight.num_elements(),
          .bytes_written = 4 * count};
}

Status validate(const AddRmsNorm& args) {
  Dim T("T");
  Dim H("H");
  ShapeCheck c("add_rms_norm");
  c.match("x", args.x, DType::kF32, {T, H})
      .match("residual", args.residual, DType::kF32, {T, H})
      .match_dense("weight", args.weight, DType::kF32, {H})
      .match("y", args.y, DType::kF32, {T, H})
      .require(H.value() != 0, "H=0, expected at least 1")
      .require(args.eps >= 0.0F, "eps is negative")
      .same_or_disjoint("y", args.y, "x", args.x)
      .disjoint("residual", args.residual, "y", args.y)
      .disjoint("residual", args.residual, "x", args.x)
      .disjoint("y", args.y, "weight", args.weight);
  return c.status();
}

Cost cost(const AddRmsNorm& args) {
  const std::int64_t count = args.x.num_elements();
  return {.flops = 5 * count,
          .bytes_read = 8 * count + 4 * args.weight.num_elements(),
          .bytes_written = 8 * count};
}

}  // namespace plumb
