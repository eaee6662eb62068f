// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// Which rows of a sequence make its vector.
enum class Pooling : unsigned char {
  kMean,   ///< all of them, averaged
  kFirst,  ///< the first one ([CLS])
  kLast,   ///< the last one
};

/// y[b,:] = one vector for the rows cu_seqlens[b] .. cu_seqlens[b+1] of x.
///
/// Shapes    x f32 [T,H]; cu_seqlens i32 [B+1], from 0 to T, rising; y f32 [B,H], disjoint from x;
///           H >= 1.
/// Numerics  rows are added in f32 in order.
/// Capture   safe: no allocation, no host sync.
/// Source    Reimers & Gurevych 2019.
///
/// Worked case: x = [[3,0],[3,8],[5,12]], cu_seqlens [0,2,3], kMean -> [[3,4],[5,12]],
/// kFirst -> [[3,0],[5,12]], kLast -> [[3,8],[5,12]].
struct Pool {
  Tensor x;
  Tensor cu_seqlens;
  Tensor y;
  Pooling pooling = Pooling::kMean;
};

Status validate(const Pool&);
Cost cost(const Pool&);

}  // namespace plumb
