// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm.h"

#include "ops/shape_check.h"

namespace plumb {
namespace {

bool has_residual(const LayerNorm& args) {
  return args.residual.address != nullptr || args.residual.shape.rank() > 0;
}

}  // namespace

Status validate(const LayerNorm& args) {
  Dim T("T");
  Dim H("H");
  ShapeCheck c("layer_norm");
  c.match("x", args.x, DType::kF32, {T, H})
      .match_dense("weight", args.weight, DType::kF32, {H})
      .match_dense("bias", args.bias, DType::kF32, {H})
      .match("y", args.y, DType::kF32, {T, H});
  if (has_residual(args)) {
    c.match("residual", args.residual, DType::kF32, {T, H})
        .same_or_disjoint("y", args.y, "residual", args.residual);
  }
  c.require(H.value() != 0, "H=0, expected at least 1")
      .require(args.eps >= 0.0F, "eps is negative")
      .same_or_disjoint("y", args.y, "x", args.x)
      .disjoint("y", args.y, "weight", args.weight)
      .disjoint("y", args.y, "bias", args.bias);
  return c.status();
}

Cost cost(const LayerNorm& args) {
  const std::int64_t count = args.x.num_elements();
  const std::int64_t operands = has_residual(args) ? 2 : 1;
  return {.flops = (6 + operands) * count,
          .bytes_read = 4 * operands * count + 8 * args.weight.num_elements(),
          .bytes_written = 4 * count};
}

}  // namespace plumb
