// SPDX-License-Identifier: Apache-2.0
#include "ops/varlen_attention.h"

#include <algorithm>

#include "ops/shape_check.h"

namespace plumb {

Status validate(const VarlenAttention& args) {
  Dim T("T");
  Dim H("H");
  Dim D("D");
  Dim sequences("B+1");
  ShapeCheck c("varlen_attention");
  c.match("q", args.q, DType::kF32, {T, H, D})
      .match("k", args.k, DType::kF32, {T, H, D})
      .match("v", args.v, DType::kF32, {T, H, D})
      .match("y", args.y, DType::kF32, {T, H, D})
      .match_dense("cu_seqlens", args.cu_seqlens, DType::kI32, {sequences})
      .require(sequences.value() != 0, "cu_seqlens is empty, expected at least its first 0")
      .require(H.value() != 0 && D.value() != 0, "H or D is 0, expected at least 1")
      .disjoint("y", args.y, "q", args.q)
      .disjoint("y", args.y, "k", args.k)
      .disjoint("y", args.y, "v", args.v);
  return c.status();
}

Cost cost(const VarlenAttention& args) {
  const std::int64_t num_rows = args.q.dim(0);
  const std::int64_t num_sequences = std::max(args.cu_seqlens.dim(0) - 1, std::int64_t{1});
  const std::int64_t keys = (num_rows + num_sequences - 1) / num_sequences;
  const std::int64_t count = args.q.num_elements();
  return {.flops = 4 * count * keys, .bytes_read = 12 * count, .bytes_written = 4 * count};
}

}  // namespace plumb
