// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/engine_stats.h"
#include "engine/sequence.h"
#include "ops/backend.h"
#include "ops/op_context.h"
#include "sampling/sampler.h"

namespace plumb {

/// What one row of logits is for.
struct LogitsRow {
  Sequence* sequence = nullptr;
  std::int64_t position = 0;  ///< of the token that the row predicts
  bool is_prompt = false;     ///< that token is known: only its log probability is wanted
};

/// Turns the rows of a step into tokens.
/// Thread: engine. Cost: no allocation beyond top_logprobs.
class StepSampler {
 public:
  /// With `device` null the host reads the model's tensors directly; else they are copied.
  StepSampler(std::int64_t vocab_size, std::int64_t max_rows, Backend* device, const Clock& clock);

  /// One result a row, valid until the next call.
  ///
  /// Shapes  logits f32 [R,V].
  /// Errors  kDeviceLost; in a row: as Sampler::sample().
  Result<std::span<const Result<EmittedToken>>> choose(const Tensor& logits,
                                                       std::span<const LogitsRow> rows,
                                                       OpContext& op);

  /// Working memory of a grammar's mask.
  std::span<std::uint32_t> mask() { return mask_; }

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
  const Clock& clock_;
  std::vector<std::uint32_t> mask_;  ///< of one row
  MaskTimes mask_times_;
  std::vector<char> is_plain_;  ///< the largest logit decides
  std::vector<std::int32_t> argmax_;
  std::vector<float> best_;
  std::vector<float> row_;  ///< staging of one row of logits
  std::vector<Result<EmittedToken>> results_;
};

}  // namespace plumb
