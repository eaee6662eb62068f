// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// y[t,h] += x[t,h]
///
/// Shapes    x, y f32 [T,H]; any row stride; y does not overlap x.
/// Numerics  one rounding.
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: x = [[1,2]], y = [[10,20]] -> [[11,22]].
struct Add {
  Tensor x;
  Tensor y;
};

Status validate(const Add&);
Cost cost(const Add&);

}  // namespace plumb
