// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/status.h"
#include "ops/cost.h"
#include "ops/weight.h"
#include "tensor/tensor.h"

namespace plumb {

/// One product of a Linear: y = x * weight^T (+ bias).
struct LinearOutput {
  const Weight* weight = nullptr;  ///< [N,K]
  Tensor y;                        ///< f32 [M,N], any row stride
  Tensor bias;                     ///< f32 [N]; address null = none
};

/// y_i[m,n] = sum_k x[m,k] * w_i[n,k] (+ bias_i[n]) for each output i.
///
/// All outputs share x, so that it is quantised once (q, k, v; gate and up).
///
/// Shapes    x f32 [M,K]; outputs[i].weight [N_i,K], y f32 [M,N_i]; M >= 0; 1 to 4 outputs; no y
///           overlaps x or another y.
/// Numerics  weights of block formats may be multiplied by activations quantised to 8 bits per 32
///           elements, those of Q13 by activations rounded to 13 bits per 128; float weights by
///           float activations. The result of a row does not depend on
///           M or on its neighbours.
/// Requires  scratch i8 [linear_scratch_bytes(M, K)] (64-byte aligned), may be null for M = 0.
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: x = [[1,2,3]], w = [[1,0,-1],[2,2,2]], bias = [10,20] -> [[8,32]].
struct Linear {
  Tensor x;
  std::span<const LinearOutput> outputs;
  Tensor scratch;
};

/// Room for every back end's quantised form of x [M,K].
std::int64_t linear_scratch_bytes(std::int64_t m, std::int64_t k);

Status validate(const Linear&);
Cost cost(const Linear&);

}  // namespace plumb
