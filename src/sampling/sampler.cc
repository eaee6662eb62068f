// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include <algorithm>
#include <limits>

#include "sampling/gumbel_draw.h"
#include "sampling/logits_math.h"

namespace plumb {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool changes_logits(const SampleContext& context) {
  return !context.params->allowed_token_ids.empty() || !context.params->logit_bias.empty() ||
         !context.banned.empty() || context.counts != nullptr;
}

}  // namespace

bool needs_only_argmax(const SampleContext& context) {
  return context.params->is_greedy() && !context.params->logprobs && !changes_logits(context);
}

Sampler::Sampler(std::int64_t vocab_size)
    : adjusted_(static_cast<std::size_t>(vocab_size)), z_(static_cast<std::size_t>(vocab_size)) {}

Result<EmittedToken> Sampler::sample(std::span<const float> logits, const SampleContext& context) {
  PLUMB_CHECK(logits.size() == z_.size(), "a row of logits of another vocabulary");
  const LogitsSummary raw = summarize(logits);
  if (!raw.is_valid) {
    return Status{Code::kInternal, "the model's logits are not numbers"};
  }
  TokenId token = -1;
  if (changes_logits(context)) {
    restrict_and_penalize(logits, context);
    const LogitsSummary adjusted = summarize(adjusted_);
    if (!adjusted.is_valid) {
      return Status{Code::kInvalidArgument,
                    "allowed_token_ids, min_tokens and stop_token_ids leave no token to choose"};
    }
    PLUMB_ASSIGN(token, choose(adjusted_, adjusted.max, context));
  } else {
    PLUMB_ASSIGN(token, choose(logits, raw.max, context));
  }
  if (context.params->logprobs) {
    return logprobs_of(logits, raw.max, token, context.params->top_logprobs);
  }
  return EmittedToken{token, 0.0F, {}};
}

void Sampler::restrict_and_penalize(std::span<const float> logits, const SampleContext& context) {
  const SamplingParams& params = *context.params;
  if (params.allowed_token_ids.empty()) {
    std::copy(logits.begin(), logits.end(), adjusted_.begin());
  } else {
    std::fill(adjusted_.begin(), adjusted_.end(), kNever);
    for (const TokenId token : params.allowed_token_ids) {
      adjusted_[static_cast<std::size_t>(token)] = logits[static_cast<std::size_t>(token)];
    }
  }
  for (const auto& [token, bias] : params.logit_bias) {
    adjusted_[static_cast<std::size_t>(token)] += bias;
  }
  for (const TokenId token : context.banned) {
    adjusted_[static_cast<std::size_t>(token)] = kNever;
  }
  if (context.counts != nullptr) {
    context.counts->penalize(params, adjusted_);
  }
}

Result<TokenId> Sampler::choose(std::span<const float> logits, float max,
                                const SampleContext& context) {
  const SamplingParams& params = *context.params;
  const TokenId most_likely = first_of(logits, max);
  if (params.is_greedy()) {
    return most_likely;
  }
  scale(logits, max, params.temperature, z_);
  const CandidateCut cut = cutter_.find(z_, params.top_k, params.top_p, params.min_p);
  return draw_gumbel(z_, cut, most_likely, params.seed, context.position);
}

}  // namespace plumb
