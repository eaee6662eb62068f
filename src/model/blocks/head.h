// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/model_config.h"
#include "model/weight_loader.h"
#include "ops/op_context.h"

namespace plumb {

/// Both ends of the model: the embedding table, the last norm and the output matrix (often the same
/// table).
struct HeadBlock {
  Weight embedding;  ///< [V, hidden]
  Weight output;     ///< [V, hidden]; empty = tied to embedding
  Parameter norm;    ///< [hidden]
  float eps = 1e-6F;
  float embedding_scale = 1.0F;

  /// token_ids [T] -> [T, hidden]
  Tensor embed(OpContext& op, const Tensor& token_ids) const {
    return op.embedding(token_ids, embedding, embedding_scale);
  }

  /// x and residual [R, hidden] -> rms_norm(residual + x) [R, hidden]
  Tensor hidden(OpContext& op, const Tensor& x, const Tensor& residual) const {
    return op.add_rms_norm(x, residual, norm.tensor, eps);
  }

  /// x and residual [R, hidden] -> logits [R, V] of rms_norm(residual + x)
  Tensor logits(OpContext& op, const Tensor& x, const Tensor& residual) const;
};

HeadBlock load_head(WeightLoader& load, const ModelConfig& config);

}  // namespace plumb
