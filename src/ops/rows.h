// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// y[r,:] = x[row_ids[r],:]: the rows whose logits are wanted.
///
/// Shapes    x f32 [T,H]; row_ids i32 [R] in [0,T); y f32 [R,H], not x.
struct GatherRows {
  Tensor x;
  Tensor row_ids;
  Tensor y;
};

Status validate(const GatherRows&);
Cost cost(const GatherRows&);

/// y[r] = index of the largest x[r,:], the lowest index on ties; best[r] = that value. NaN rows
/// give -1.
///
/// Shapes    x f32 [R,V], V >= 1; y i32 [R]; best f32 [R].
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
/// Numerics  the maximum is subtracted first; relative error of the sum <= 1e-5; -inf entries count
/// as 0.
struct LogSumExp {
  Tensor x;
  Tensor y;
};

Status validate(const LogSumExp&);
Cost cost(const LogSumExp&);

}  // namespace plumb
