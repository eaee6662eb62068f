// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// y[r,:] = x[row_ids[r],:]: the rows whose logits are wanted.
///
/// Shapes    x f32 [T,H]; row_ids i32 [R] in [0,T), any order, repeats allowed; y f32 [R,H],
///           disjoint from x.
/// Numerics  bits are copied.
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: x = [[1,2],[3,4]], row_ids = [1,1,0] -> [[3,4],[3,4],[1,2]].
struct GatherRows {
  Tensor x;
  Tensor row_ids;
  Tensor y;
};

Status validate(const GatherRows&);
Cost cost(const GatherRows&);

/// y[r] = index of the largest x[r,:], the lowest index on ties; best[r] = that value.
///
/// A row that holds a NaN anywhere gives -1 and NaN, so that a broken model is seen.
///
/// Shapes    x f32 [R,V], V >= 1; y i32 [R]; best f32 [R].
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: x = [[1,5,5],[-inf,-inf,-inf],[1,NaN,9]] -> y = [1,0,-1], best = [5,-inf,NaN].
struct Argmax {
  Tensor x;
  Tensor y;
  Tensor best;
};

Status validate(const Argmax&);
Cost cost(const Argmax&);

/// y[r] = log(sum_v exp(x[r,v])): the normaliser of log probabilities.
///
/// Shapes    x f32 [R,V], V >= 1; y f32 [R].
/// Numerics  the maximum is subtracted first; relative error of the sum <= 1e-5; an entry of -inf
///           adds 0; a row of nothing else gives -inf.
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: x = [[0, 1.0986123], [1000, 1000]] -> [1.386294, 1000.693147].
struct LogSumExp {
  Tensor x;
  Tensor y;
};

Status validate(const LogSumExp&);
Cost cost(const LogSumExp&);

}  // namespace plumb
