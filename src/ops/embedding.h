// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "ops/weight.h"
#include "tensor/tensor.h"

namespace plumb {

/// y[t,:] = weight[ids[t],:] * scale
///
/// Shapes    ids i32 [T]; weight [V,H]; y f32 [T,H]; T >= 0, 0 <= ids < V.
/// Numerics  the row's exact values; one multiplication in f32.
///           Gemma: scale = sqrt(H) rounded to bf16; else 1.
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: weight = [[1,2],[3,4]], ids = [1,0,1], scale = 2 -> [[6,8],[2,4],[6,8]].
struct Embedding {
  Tensor ids;
  const Weight* weight = nullptr;
  Tensor y;
  float scale = 1.0F;
};

Status validate(const Embedding&);
Cost cost(const Embedding&);

}  // namespace plumb
