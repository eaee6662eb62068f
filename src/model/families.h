// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"
#include "model/model_config.h"
#include "model/shard_rank.h"
#include "ops/backend.h"

namespace plumb {

/// Ok if there is forward code for that family; else kUnsupported, listing the known ones.
Status check_family(std::string_view family);

/// What a family needs to build its model.
struct ModelSource {
  Checkpoint& checkpoint;
  Backend& backend;
  ShardRank rank;  ///< {0, 1} = the whole model
  DType kv_dtype = DType::kF16;
  std::int64_t block_size = 32;  ///< tokens of a KV block
};

/// Reads the header, checks every tensor and packs the weights for the back end.
///
/// Errors kUnsupported: family, format; kInvalidArgument: header or shapes, with all missing,
///        misshapen and unexpected tensors in one message; kResourceExhausted:
///        memory.
Result<std::unique_ptr<Model>> load_model(const ModelSource& source);

/// The configuration of either kind of checkpoint.
Result<ModelConfig> read_config(const Checkpoint& checkpoint);

}  // namespace plumb
