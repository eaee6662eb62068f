// SPDX-License-Identifier: Apache-2.0
#include "ops/rows.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const GatherRows& args) {
  Dim T("T");
  Dim H("H");
  Dim R("R");
  ShapeCheck c("gather_rows");
  c.match("x", args.x, DType::kF32, {T, H})
      .match_dense("row_ids", args.row_ids, DType::kI32, {R})
      .match("y", args.y, DType::kF32, {R, H})
      .disjoint("y", args.y, "x", args.x);
  return c.status();
}

Cost cost(const GatherRows& args) {
  const std::int64_t count = args.y.num_elements();
  return {
      .flops = 0, .bytes_read = 4 * count + 4 * args.row_ids.dim(0), .bytes_written = 4 * count};
}

Status validate(const Argmax& args) {
  Dim R("R");
  Dim V("V");
  ShapeCheck c("argmax");
  c.match("x", args.x, DType::kF32, {R, V})
      .match_dense("y", args.y, DType::kI32, {R})
      .match_dense("best", args.best, DType::kF32, {R})
      .require(V.value() != 0, "V=0, expected at least 1");
  return c.status();
}

Cost cost(const Argmax& args) {
  const std::int64_t count = args.x.num_elements();
  return {.flops = count, .bytes_read = 4 * count, .bytes_written = 8 * args.x.dim(0)};
}

Status validate(const LogSumExp& args) {
  Dim R("R");
  Dim V("V");
  ShapeCheck c("log_sum_exp");
  c.match("x", args.x, DType::kF32, {R, V})
      .match_dense("y", args.y, DType::kF32, {R})
      .require(V.value() != 0, "V=0, expected at least 1");
  return c.status();
}

Cost cost(const LogSumExp& args) {
  const std::int64_t count = args.x.num_elements();
  return {.flops = 3 * count, .bytes_read = 4 * count, .bytes_written = 4 * args.x.dim(0)};
}

}  // namespace plumb
