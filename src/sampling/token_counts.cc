// SPDX-License-Identifier: Apache-2.0
#include "sampling/token_counts.h"

#include <algorithm>
#include <limits>

namespace plumb {

void TokenCounts::add_prompt(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) {
    counts_.try_emplace(token, 0);
  }
}

void TokenCounts::penalize(const SamplingParams& params, std::span<float> logits) const {
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (const auto& [token, count] : counts_) {
    float& logit = logits[static_cast<std::size_t>(token)];
    if (logit < -std::numeric_limits<float>::max()) {
      continue;  // not allowed, and stays so
    }
    double l = static_cast<double>(logit);
    l = l > 0 ? l / params.repetition_penalty : l * params.repetition_penalty;
    if (count > 0) {
      l -= params.frequency_penalty * static_cast<double>(count) + params.presence_penalty;
    }
    logit = static_cast<float>(std::clamp(l, -kLargest, kLargest));
  }
}

bool has_penalties(const SamplingParams& params) {
  return params.repetition_penalty != 1.0 || params.frequency_penalty != 0.0 ||
         params.presence_penalty != 0.0;
}

}  // namespace plumb
