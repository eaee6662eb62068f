// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// y[t,h] = x[t,h] / sqrt(mean_h(x[t,:]^2) + eps) * weight[h]
///
/// Shapes    x, y f32 [T,H]; weight f32 [H]; T >= 0, H >= 1; any row stride. y may be x.
/// Numerics  squares are summed in f32 (blocked sums allowed, same order for every T).
/// Capture   safe: no allocation, no host sync.
/// Source    Zhang & Sennrich 2019.
///
/// Worked case: x = [[3,4]], weight = [1,2], eps = 0 -> [[0.848528, 2.262742]].
struct RmsNorm {
  Tensor x;
  Tensor weight;
  Tensor y;
  float eps = 1e-6F;
};

Status validate(const RmsNorm&);
Cost cost(const RmsNorm&);

/// residual[t,:] += x[t,:], then y = rms_norm(residual).
///
/// Shapes    x, residual, y f32 [T,H]; weight f32 [H]; H >= 1; residual overlaps neither x nor y;
///           y may be x.
/// Numerics  as RmsNorm; the sum is rounded once to f32 and is what later layers read.
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: x = [[1,1]], residual = [[2,3]], weight = [1,2], eps = 0 -> residual = [[3,4]],
/// y = [[0.848528, 2.262742]].
struct AddRmsNorm {
  Tensor x;
  Tensor residual;
  Tensor weight;
  Tensor y;
  float eps = 1e-6F;
};

Status validate(const AddRmsNorm&);
Cost cost(const AddRmsNorm&);

}  // namespace plumb
