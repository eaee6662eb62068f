// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// s = x + residual (or x); y[t,h] = (s[t,h] - mean_h(s)) / sqrt(var_h(s) + eps) * weight[h] +
/// bias[h], var being the mean of (s - mean)^2.
///
/// Shapes    x, residual, y f32 [T,H]; residual may be null; weight, bias f32 [H]; T >= 0, H >= 1;
///           any row stride. y may be x or residual.
/// Numerics  mean first, then the squares of what is left, both in f32 (blocked sums allowed, same
///           order for every T).
/// Capture   safe: no allocation, no host sync.
/// Source    Ba, Kiros & Hinton 2016.
///
/// Worked case: x = [[1,3]], residual = [[1,1]], weight = [1,2], bias = [0,10], eps = 0: s = [2,4]
/// -> [[-1,12]].
struct LayerNorm {
  Tensor x;
  Tensor residual;
  Tensor weight;
  Tensor bias;
  Tensor y;
  float eps = 1e-12F;
};

Status validate(const LayerNorm&);
Cost cost(const LayerNorm&);

}  // namespace plumb
