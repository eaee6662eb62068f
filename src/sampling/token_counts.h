// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/token_id.h"
#include "request/sampling_params.h"

namespace plumb {

/// Which tokens a sequence has seen and how often it produced them: what penalties need.
/// Thread: engine, or the worker that computes a step with it. Cost: memory for the distinct tokens
/// only.
class TokenCounts {
 public:
  void add_prompt(std::span<const TokenId> tokens);

  void add_output(TokenId token) { ++counts_[token]; }

  /// Applies repetition, frequency and presence penalty to logits [V].
  ///
  /// Numerics  repetition r, tokens of prompt and output: l > 0 -> l / r, else l * r; then, tokens
  ///           of the output: l - frequency * count - presence. Results are kept finite.
  /// Source    Keskar et al. 2019, "CTRL", for the repetition penalty.
  void penalize(const SamplingParams& params, std::span<float> logits) const;

 private:
  std::unordered_map<TokenId, std::int64_t> counts_;  ///< times in the output; 0 = prompt only
};

/// Whether a request's parameters need counts.
bool has_penalties(const SamplingParams& params);

}  // namespace plumb
