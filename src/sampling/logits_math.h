// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "request/request.h"

namespace plumb {

/// The logit of a token that is never drawn.
inline constexpr float kNeverDrawn = -std::numeric_limits<float>::infinity();

/// What one pass over a row of logits tells.
struct LogitsSummary {
  float max = 0;
  bool is_valid = false;  ///< no NaN, no +infinity, at least one finite value
};

LogitsSummary summarize(std::span<const float> logits);

/// Index of the first element that equals `max`. Requires there is one.
TokenId first_of(std::span<const float> logits, float max);

/// out[i] = (logits[i] - max) / temperature: the largest is 0.
/// Requires temperature > 0; out has the size of logits. Minus infinity stays.
void scale(std::span<const float> logits, float max, double temperature, std::span<float> out);

/// out[i] = exp(z[i]) for z <= 0; below -87 it is 0 to float precision.
/// Numerics  relative error <= 3e-7.
void exp_all(std::span<const float> z, std::span<float> out);

/// log(sum_i exp(logits[i])). Requires max is the largest and finite.
/// Numerics  absolute error <= 1e-6.
double log_sum_exp(std::span<const float> logits, float max);

/// The `count` most likely tokens with their log probabilities, ties by id.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, double log_sum,
                                       std::int64_t count);

/// The log probability of one token of a row, with the most likely ones beside it; rank is 0.
EmittedToken logprobs_of(std::span<const float> logits, float max, TokenId token,
                         std::int64_t num_top);

/// 1 + how many tokens come before it when ordered by logit, ties by id.
std::int64_t rank_of(std::span<const float> logits, TokenId token);

}  // namespace plumb
