// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// Bidirectional softmax attention over packed sequences of their own lengths, without a cache:
/// each row of a sequence sees all rows of that sequence and none of another.
///
/// Sequence b owns rows cu_seqlens[b] .. cu_seqlens[b+1] of q, k, v and y. score = scale * (q . k).
///
/// Shapes    q, k, v, y f32 [T,H,D], any row stride; cu_seqlens i32 [B+1], from 0 to T, not
///           falling; sequences of zero rows are legal. y overlaps none of q, k, v.
/// Numerics  online softmax in f32 over blocks of keys that begin at the sequence's first row, in
///           order, so that a row's result depends neither on the batch nor on the thread count.
/// Capture   safe: no allocation, no host sync.
/// Source    Vaswani et al. 2017; Dao 2023.
///
/// Worked case: H = D = 1, scale 1, cu_seqlens [0,2,3], q = [1,0,9], k = [0, ln 3, 5],
/// v = [4,8,2]: row 0 weighs 1/4 and 3/4 -> 7, row 1 halves -> 6, row 2 sees itself -> 2.
struct VarlenAttention {
  Tensor q;
  Tensor k;
  Tensor v;
  Tensor cu_seqlens;
  Tensor y;
  float scale = 1.0F;
};

Status validate(const VarlenAttention&);
/// Lengths live on the device: the rows are taken to be spread evenly over the sequences.
Cost cost(const VarlenAttention&);

}  // namespace plumb
