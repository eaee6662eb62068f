// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/step_batch.h"
#include "model/model.h"
#include "ops/op_table.h"

namespace plumb {

/// What a step of the largest size takes.
struct DryRun {
  std::int64_t workspace_bytes = 0;
  std::vector<std::string_view> ops;  ///< that the model called
};

/// Runs the model on ops that compute nothing (the meta back end's), with null addresses: the
/// largest prefill step and the largest step of decode rows alone.
DryRun dry_run(const Model& model, const OpTable& meta_ops, const StepSizes& sizes,
               std::int64_t max_context_len);

/// Bytes of the tensors that choosing tokens takes beside the logits.
std::int64_t argmax_bytes(std::int64_t num_logits);

}  // namespace plumb
