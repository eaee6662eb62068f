// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// Causal softmax attention of ragged queries over a paged cache that holds their keys and values.
///
/// Sequence b owns query rows cu_seqlens_q[b] .. cu_seqlens_q[b+1]; the last of them is at position
/// context_lens[b] - 1. Key position j lives in block block_table[b, j / block_size] at offset j
/// mod block_size. Query at position p sees keys j <= p and, with a window, j > p - window. score =
/// scale * (q . k); with softcap c > 0: c * tanh(score / c); sinks[h] joins the softmax as one more
/// score with value 0. Query head h reads KV head h / (Hq / Hkv).
///
/// Shapes    q, y f32 [T,Hq,D], any row stride; k_cache, v_cache f16 or f32
///           [num_blocks,Hkv,block_size,D]; block_table i32 [B,max_blocks], any row stride, entries
///           behind a context, and of blocks that the window hides from all rows, are not read;
///           context_lens i32 [B]; cu_seqlens_q i32 [B+1]; sinks f32 [Hq] or null. Hq multiple of
///           Hkv. Sequences of zero query rows are legal. y may not alias q.
/// Numerics  online softmax in f32 over blocks of keys that begin at absolute positions (multiples
///           of 32 from 0), merged in order, so that a row's result does not depend on the batch,
///           the chunk or the thread count. Slots that no query sees may hold anything, NaN too.
/// Requires  scratch i8 [paged_attention_scratch_bytes(...)], 64-byte aligned, may be null for T=0.
/// Capture   safe: no allocation, no host sync.
/// Source    Dao 2023; Kwon et al. 2023.
///
/// Worked case: Hq = 2, Hkv = 1, D = 1, scale 1, keys [0, ln 3], values [4, 8], one query row
/// q = [1, 0] at position 1: head 0 weights 1/4 and 3/4 -> 7, head 1 weights 1/2 -> 6; with
/// sinks = [ln 4, -inf]: head 0 weights 1/8 and 3/8 -> 3.5, head 1 -> 6; with window 1: 8 and 8.
struct PagedAttention {
  Tensor q;
  Tensor k_cache;
  Tensor v_cache;
  Tensor block_table;
  Tensor context_lens;
  Tensor cu_seqlens_q;
  Tensor sinks;
  Tensor y;
  Tensor scratch;
  float scale = 1.0F;
  std::int64_t window = 0;  ///< 0 = all
  float softcap = 0.0F;     ///< 0 = none
};

/// Room for the partial results of long contexts: T query rows of Hq heads of D over at most
/// max_context_len keys, one of D + 2 floats for each 512 keys.
///
/// At most 32 MiB: where partial results take more (a long prompt), a back end walks the keys of a
/// row in order instead, with the same result.
std::int64_t paged_attention_scratch_bytes(std::int64_t num_tokens, std::int64_t num_q_heads,
                                           std::int64_t head_dim, std::int64_t max_context_len);

Status validate(const PagedAttention&);
/// Context lengths live on the device: each row is taken to see its whole block table (or window).
Cost cost(const PagedAttention&);

}  // namespace plumb
