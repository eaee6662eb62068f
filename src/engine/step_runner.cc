// SPDX-License-Identifier: Apache-2.0
#include "engine/step_runner.h"

#include <utility>

#include "base/check.h"
#include "ops/op_context.h"

namespace plumb {

StepRunner::StepRunner(const Model& model, const OpTable& ops, const KvCache& cache,
                       Workspace workspace, std::unique_ptr<Stream> stream, StepSampler sampler,
                       const Clock& clock)
    : model_(&model),
      ops_(ops),
      cache_(cache),
      workspace_(std::move(workspace)),
      stream_(std::move(stream)),
      sampler_(std::move(sampler)),
      clock_(clock) {
  relay_.reserve(static_cast<std::size_t>(sampler_.max_rows()));
}

void StepRunner::run(StepJob& job) {
  PLUMB_SCOPE("compute", job.batch.num_tokens());
  job.begin = job.computed = clock_.now();
  if (failure_.ok()) {
    failure_ = compute(job);
  }
  job.status = failure_;
  job.mask_times = sampler_.mask_times();
  job.end = clock_.now();
}

Status StepRunner::compute(StepJob& job) {
  for (const RelayedToken& relayed : job.relayed) {
    job.batch.set_token(relayed.token, relay_[static_cast<std::size_t>(relayed.row)]);
  }
  const Workspace::Mark mark(workspace_);
  OpContext op(ops_, workspace_, *stream_);
  const ModelBatch inputs = job.batch.upload(*stream_);
  const Tensor logits = model_->forward(op, inputs, cache_.layers());
  PLUMB_RETURN_IF_ERROR(stream_->synchronize());
  PLUMB_RETURN_IF_ERROR(stream_->poll());
  job.computed = clock_.now();
  PLUMB_RETURN_IF_ERROR(sampler_.choose(logits, job.rows, op, &job.results));
  PLUMB_RETURN_IF_ERROR(stream_->poll());
  relay(job);
  return {};
}

// A sequence without a token has ended: whatever the next step computes for it is dropped.
void StepRunner::relay(const StepJob& job) {
  relay_.clear();
  for (const Result<EmittedToken>& result : job.results) {
    relay_.push_back(result.ok() ? result.value().token : TokenId{0});
  }
}

}  // namespace plumb
