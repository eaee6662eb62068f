// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "cli/serving.h"

namespace plumb {

/// A matrix of a checkpoint and what the model's forward code does with it.
struct MatrixUse {
  std::string name;           ///< as the checkpoint calls it
  std::string file_format;    ///< "Q4_K"
  DType dtype = DType::kF32;  ///< that the model gives to the back end
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool is_multiplied = false;  ///< by `linear`
  bool is_looked_up = false;   ///< by `embedding`
};

struct ModelUses {
  std::vector<MatrixUse> matrices;  ///< in the order in which the model loads them
  std::int64_t num_vectors = 0;     ///< other tensors of the checkpoint
};

/// Loads the model, or the encoder, on the back end that computes nothing and runs it once.
/// Errors  as load_model() and load_encoder().
Result<ModelUses> find_model_uses(Checkpoint& checkpoint, const ModelOptions& layout);

}  // namespace plumb
