// SPDX-License-Identifier: Apache-2.0
#include "ops/embedding.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const Embedding& args) {
  Dim T("T");
  Dim V("V");
  Dim H("H");
  ShapeCheck c("embedding");
  if (!c.require(args.weight != nullptr, "no weight").status().ok()) {
    return c.status();
  }
  c.match("weight", Shape{args.weight->rows(), args.weight->cols()}, {V, H})
      .match_dense("ids", args.ids, DType::kI32, {T})
      .match("y", args.y, DType::kF32, {T, H});
  return c.status();
}

Cost cost(const Embedding& args) {
  const std::int64_t num_tokens = args.ids.dim(0);
  const std::int64_t hidden = args.weight->cols();
  return {.flops = num_tokens * hidden,
          .bytes_read = num_tokens * (4 + row_bytes(args.weight->dtype(), hidden)),
          .bytes_written = num_tokens * hidden * 4};
}

}  // namespace plumb
