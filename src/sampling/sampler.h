// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "request/request.h"
#include "sampling/candidate_cut.h"
#include "sampling/logit_processor.h"
#include "sampling/token_counts.h"

namespace plumb {

/// What a choice depends on besides the logits.
struct SampleContext {
  const SamplingParams* params = nullptr;
  const TokenCounts* counts = nullptr;   ///< null when has_penalties() is false
  std::span<const TokenId> banned = {};  ///< ends that come too early (min_tokens)
  std::int64_t position = 0;             ///< that the chosen token takes in its sequence
  /// Bit t of word t / 32 is set when the grammar allows token t; empty = it allows all, bits that
  /// are not there = not allowed.
  std::span<const std::uint32_t> mask = {};
  LogitContext seen = {};  ///< for bad words and processors
  std::span<const std::unique_ptr<LogitProcessor>> processors = {};
};

/// Whether the index of the largest logit is all that a request needs in this step.
bool needs_only_argmax(const SampleContext& context);

/// Chooses the next token of one row at a time.
///
/// Order: grammar mask, allow-list, bad words, bias, banned ends, penalties, processors,
/// temperature, top-k, top-p on the renormalised rest, min-p, draw. Greedy rows take the largest
/// logit after the processors, the lowest id on ties. Log probabilities are those of the model,
/// before all of that, or with LogprobsMode::kProcessed those of the distribution after the
/// temperature.
///
/// Thread  device.
/// Cost    a few passes over the vocabulary; allocates only what top_logprobs returns.
class Sampler {
 public:
  explicit Sampler(std::int64_t vocab_size);

  /// Shapes  logits f32 [V], on the host.
  /// Errors  kInternal: a logit is NaN or +infinity, or all are -infinity; kInvalidArgument: the
  ///         request's own bans leave no token; these are named.
  Result<EmittedToken> sample(std::span<const float> logits, const SampleContext& context);

 private:
  void adjust(std::span<const float> logits, const SampleContext& context);
  EmittedToken choose(std::span<const float> logits, float max, const SampleContext& context);

  std::vector<float> adjusted_;  ///< logits after masks, bans, bias, penalties, processors
  std::vector<float> z_;         ///< scaled, the largest is 0
  CandidateCutter cutter_;
};

}  // namespace plumb
