// SPDX-License-Identifier: Apache-2.0
#include "ops/paged_attention.h"

#include <algorithm>
#include <string>

#include "ops/shape_check.h"

namespace plumb {
namespace {

constexpr std::int64_t kChunk = 512;                   // keys of one partial result
constexpr std::int64_t kMaxPartialBytes = 32LL << 20;  // more rows than that fill all threads

}  // namespace

std::int64_t paged_attention_scratch_bytes(std::int64_t num_tokens, std::int64_t num_q_heads,
                                           std::int64_t head_dim, std::int64_t max_context_len) {
  constexpr std::int64_t kAlways = 4096;
  if (max_context_len <= kChunk) {
    return kAlways;
  }
  // A partial result: D sums, the largest score and the sum of the weights.
  const std::int64_t num_chunks = (max_context_len + kChunk - 1) / kChunk;
  const std::int64_t partials = num_tokens * num_q_heads * num_chunks * (head_dim + 2) * 4;
  return std::min(partials, kMaxPartialBytes) + kAlways;
}

Status validate(const PagedAttention& args) {
  Dim T("T");
  Dim Hq("Hq");
  Dim Hkv("Hkv");
  Dim D("D");
  Dim B("B");
  Dim num_blocks("num_blocks");
  Dim block_size("block_size");
  Dim max_blocks("max_blocks");
  const DType cache_type = args.k_cache.dtype;
  ShapeCheck c("paged_attention");
  c.require(cache_type == DType::kF16 || cache_type == DType::kF32,
            "k_cache is neither F16 nor F32")
      .match("q", args.q, DType::kF32, {T, Hq, D})
      .match("y", args.y, DType::kF32, {T, Hq, D})
      .match_dense("k_cache", args.k_cache, cache_type, {num_blocks, Hkv, block_size, D})
      .match_dense("v_cache", args.v_cache, cache_type, {num_blocks, Hkv, block_size, D})
      .match("block_table", args.block_table, DType::kI32, {B, max_blocks})
      .match_dense("context_lens", args.context_lens, DType::kI32, {B});
  if (!c.status().ok()) {
    return c.status();
  }
  c.match_dense("cu_seqlens_q", args.cu_seqlens_q, DType::kI32, {B.value() + 1})
      .require(Hkv.value() > 0 && Hq.value() % Hkv.value() == 0,
               "Hq=" + std::to_string(Hq.value()) +
                   " is not a multiple of Hkv=" + std::to_string(Hkv.value()))
      .require(args.window >= 0, "window " + std::to_string(args.window) + " is negative")
      .require(args.softcap >= 0.0F, "softcap " + std::to_string(args.softcap) + " is negative")
      .disjoint("y", args.y, "q", args.q);
  if (args.sinks.address != nullptr || args.sinks.shape.rank() > 0) {
    c.match_dense("sinks", args.sinks, DType::kF32, {Hq});
  }
  if (T.value() > 0) {
    // How much longer contexts take is known to who chose their number only.
    c.scratch(args.scratch, paged_attention_scratch_bytes(T.value(), Hq.value(), D.value(), 0));
  }
  return c.status();
}

Cost cost(const PagedAttention& args) {
  const std::int64_t num_tokens = args.q.dim(0);
  const std::int64_t num_q_heads = args.q.dim(1);
  const std::int64_t head_dim = args.q.dim(2);
  const std::int64_t num_kv_heads = args.k_cache.dim(1);
  const std::int64_t num_seqs = args.block_table.dim(0);
  const std::int64_t table_keys = args.block_table.dim(1) * args.k_cache.dim(2);
  const std::int64_t row_keys = args.window > 0 ? std::min(args.window, table_keys) : table_keys;
  // Rows of a sequence share its keys; a window of several rows covers more keys than one row sees.
  const std::int64_t seq_rows = num_seqs > 0 ? (num_tokens + num_seqs - 1) / num_seqs : 0;
  const std::int64_t seq_keys =
      std::min(table_keys, row_keys + std::max<std::int64_t>(seq_rows - 1, 0));
  const std::int64_t cache_bytes = traits(args.k_cache.dtype).block_bytes;
  return {.flops = 4 * num_tokens * num_q_heads * head_dim * row_keys,
          .bytes_read = 4 * args.q.num_elements() +
                        2 * num_seqs * seq_keys * num_kv_heads * head_dim * cache_bytes,
          .bytes_written = 4 * args.y.num_elements()};
}

}  // namespace plumb
