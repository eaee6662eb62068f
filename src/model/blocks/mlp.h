// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/model_config.h"
#include "model/weight_loader.h"
#include "ops/op_context.h"

namespace plumb {

/// The gated feed-forward block: down(activation(gate x) * up x).
struct MlpBlock {
  Weight gate;  ///< [I, hidden]
  Weight up;    ///< [I, hidden]
  Weight down;  ///< [hidden, I]
  Activation activation = Activation::kSilu;

  /// x [T, hidden] -> y [T, hidden]; with several ranks the rank's share of the sum.
  void forward(OpContext& op, const Tensor& x, const Tensor& y) const;
};

/// The feed-forward size is split over the ranks.
MlpBlock load_mlp(WeightLoader& load, std::int64_t layer, const ModelConfig& config);

}  // namespace plumb
