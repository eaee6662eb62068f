// SPDX-License-Identifier: Apache-2.0
#include "ops/kv_append.h"

#include "ops/shape_check.h"

namespace plumb {

Status validate(const KvAppend& args) {
  Dim T("T");
  Dim Hkv("Hkv");
  Dim D("D");
  Dim num_blocks("num_blocks");
  Dim block_size("block_size");
  const DType cache_type = args.k_cache.dtype;
  ShapeCheck c("kv_append");
  c.require(cache_type == DType::kF16 || cache_type == DType::kF32,
            "k_cache is neither F16 nor F32")
      .match("k", args.k, DType::kF32, {T, Hkv, D})
      .match("v", args.v, DType::kF32, {T, Hkv, D})
      .match_dense("slot_mapping", args.slot_mapping, DType::kI32, {T})
      .match_dense("k_cache", args.k_cache, cache_type, {num_blocks, Hkv, block_size, D})
      .match_dense("v_cache", args.v_cache, cache_type, {num_blocks, Hkv, block_size, D})
      .disjoint("k_cache", args.k_cache, "v_cache", args.v_cache);
  return c.status();
}

Cost cost(const KvAppend& args) {
  const std::int64_t count = args.k.num_elements() + args.v.num_elements();
  return {.flops = 0,
          .bytes_read = 4 * count + 4 * args.slot_mapping.dim(0),
          .bytes_written = count * traits(args.k_cache.dtype).block_bytes};
}

}  // namespace plumb
