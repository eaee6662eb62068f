// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/step_job.h"
#include "engine/step_sampler.h"
#include "model/model.h"
#include "ops/op_table.h"
#include "tensor/device.h"
#include "tensor/workspace.h"

namespace plumb {

/// What computes steps: the model on a stream of its own, and the choice of tokens behind it.
///
/// Tokens that a step chooses are kept for the next one, which may be built before they are known.
/// Ownership  model, ops and cache outlive it.
/// Thread     one at a time, the steps in order.
/// Cost       no allocation beyond top_logprobs.
class StepRunner {
 public:
  StepRunner(const Model& model, const OpTable& ops, const KvCache& cache, Workspace workspace,
             std::unique_ptr<Stream> stream, StepSampler sampler, const Clock& clock);

  /// Computes the next steps with another model. Requires that no step is under way; until then the
  /// former one may be gone. `model` outlives it, or the next call.
  void set_model(const Model* model) { model_ = model; }

  /// Fills the outcome of the job. After a step that failed nothing is computed any more: all that
  /// come later fail with its status.
  void run(StepJob& job);

 private:
  Status compute(StepJob& job);
  void relay(const StepJob& job);

  const Model* model_;
  const OpTable& ops_;
  const KvCache& cache_;
  Workspace workspace_;
  std::unique_ptr<Stream> stream_;
  StepSampler sampler_;
  const Clock& clock_;
  std::vector<TokenId> relay_;  ///< by row of the logits of the last step
  Status failure_;
};

}  // namespace plumb
