// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/engine_stats.h"
#include "engine/step_job.h"
#include "ops/backend.h"
#include "ops/op_context.h"
#include "sampling/sampler.h"

namespace plumb {

/// Turns the rows of a step into tokens.
/// Thread: the one that computes. Cost: no allocation beyond top_logprobs.
class StepSampler {
 public:
  /// With `device` null the host reads the model's tensors directly; else they are copied.
  StepSampler(std::int64_t vocab_size, std::int64_t max_rows, Backend* device, const Clock& clock);

  std::int64_t max_rows() const { return std::ssize(argmax_); }

  /// Writes one result a row.
  ///
  /// Shapes  logits f32 [R,V].
  /// Errors  kDeviceLost; in a row: as Sampler::sample().
  Status choose(const Tensor& logits, std::span<const LogitsRow> rows, OpContext& op,
                std::vector<Result<EmittedToken>>* results);

  /// Of all masks so far; a part of the time in choose().
  const MaskTimes& mask_times() const { return mask_times_; }

 private:
  void find_plain_rows(std::span<const LogitsRow> rows);
  Status run_argmax(const Tensor& logits, OpContext& op);
  Result<EmittedToken> choose_row(std::span<const float> logits, const LogitsRow& row);
  Status fill_mask(Sequence& seq);
  /// The elements of a dense tensor (4 bytes each) where the host can read them.
  Result<const void*> on_host(const Tensor& tensor, void* staging, Stream& stream);

  Sampler sampler_;
  Backend* device_;
  const Clock* clock_;
  std::vector<std::uint32_t> mask_;  ///< of one row
  MaskTimes mask_times_;
  std::vector<char> is_plain_;  ///< the largest logit decides
  std::vector<std::int32_t> argmax_;
  std::vector<float> best_;
  std::vector<float> row_;  ///< staging of one row of logits
};

}  // namespace plumb
