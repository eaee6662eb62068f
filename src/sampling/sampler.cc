// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/gumbel_draw.h"
#include "sampling/logits_math.h"

namespace plumb {
namespace {

bool changes_logits(const SampleContext& context) {
  const SamplingParams& params = *context.params;
  return !context.mask.empty() || !params.allowed_token_ids.empty() || !params.bad_words.empty() ||
         !params.logit_bias.empty() || !context.banned.empty() || context.counts != nullptr ||
         !context.processors.empty();
}

// Most words of a mask allow all of their tokens, or none.
void apply_mask(std::span<const std::uint32_t> mask, std::span<float> logits) {
  constexpr std::size_t kBits = 32;
  for (std::size_t begin = 0; begin < logits.size(); begin += kBits) {
    const std::uint32_t word = begin / kBits < mask.size() ? mask[begin / kBits] : 0;
    const std::span<float> part = logits.subspan(begin, std::min(kBits, logits.size() - begin));
    if (word == 0) {
      std::fill(part.begin(), part.end(), kNeverDrawn);
    } else if (word != ~std::uint32_t{0}) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        if ((word >> i & 1U) == 0) {
          part[i] = kNeverDrawn;
        }
      }
    }
  }
}

// Forbids the last token of each sequence whose others are the end of the output.
void ban_words(const std::vector<std::vector<TokenId>>& words, std::span<const TokenId> output,
               std::span<float> logits) {
  for (const std::vector<TokenId>& word : words) {
    const std::span<const TokenId> begin = std::span(word).first(word.size() - 1);
    if (begin.size() <= output.size() &&
        std::equal(begin.begin(), begin.end(), output.last(begin.size()).begin())) {
      logits[static_cast<std::size_t>(word.back())] = kNeverDrawn;
    }
  }
}

// What of a request forbids tokens, the fields first: none of it is named that plays no part.
Status nothing_left(const SampleContext& context) {
  const SamplingParams& params = *context.params;
  std::vector<std::string> causes;
  const auto add = [&](bool plays_part, std::string_view cause) {
    if (plays_part) {
      causes.emplace_back(cause);
    }
  };
  add(!params.allowed_token_ids.empty(), "'allowed_token_ids'");
  add(!params.bad_words.empty(), "'bad_words'");
  add(!context.banned.empty(), "'min_tokens'");
  add(!context.mask.empty(), "the constraint of the answer");
  for (const LogitProcessorSpec& spec : params.processors) {
    add(true, "the processor " + spec.name);
  }
  std::string text = causes.empty() ? "the request" : causes.front();
  for (std::size_t i = 1; i < causes.size(); ++i) {
    text += (i + 1 == causes.size() ? " and " : ", ") + causes[i];
  }
  return {Code::kInvalidArgument,
          text + (causes.size() > 1 ? " together leave" : " leaves") + " no token to choose"};
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
  EmittedToken chosen;
  if (changes_logits(context)) {
    adjust(logits, context);
    const LogitsSummary adjusted = summarize(adjusted_);
    if (!adjusted.is_valid) {
      return nothing_left(context);
    }
    chosen = choose(adjusted_, adjusted.max, context);
  } else {
    chosen = choose(logits, raw.max, context);
  }
  const SamplingParams& params = *context.params;
  if (params.logprobs && params.logprobs_mode == LogprobsMode::kRaw) {
    return logprobs_of(logits, raw.max, chosen.token, params.top_logprobs);
  }
  return chosen;
}

void Sampler::adjust(std::span<const float> logits, const SampleContext& context) {
  const SamplingParams& params = *context.params;
  if (params.allowed_token_ids.empty()) {
    std::copy(logits.begin(), logits.end(), adjusted_.begin());
  } else {
    std::fill(adjusted_.begin(), adjusted_.end(), kNeverDrawn);
    for (const TokenId token : params.allowed_token_ids) {
      adjusted_[static_cast<std::size_t>(token)] = logits[static_cast<std::size_t>(token)];
    }
  }
  if (!context.mask.empty()) {
    apply_mask(context.mask, adjusted_);
  }
  if (!params.bad_words.empty()) {
    ban_words(params.bad_words, context.seen.output(), adjusted_);
  }
  for (const auto& [token, bias] : params.logit_bias) {
    adjusted_[static_cast<std::size_t>(token)] += bias;
  }
  for (const TokenId token : context.banned) {
    adjusted_[static_cast<std::size_t>(token)] = kNeverDrawn;
  }
  if (context.counts != nullptr) {
    context.counts->penalize(params, adjusted_);
  }
  for (const std::unique_ptr<LogitProcessor>& processor : context.processors) {
    processor->apply(context.seen, adjusted_);
  }
}

EmittedToken Sampler::choose(std::span<const float> logits, float max,
                             const SampleContext& context) {
  const SamplingParams& params = *context.params;
  const bool with_logprobs = params.logprobs && params.logprobs_mode == LogprobsMode::kProcessed;
  TokenId token = first_of(logits, max);
  if (params.is_greedy()) {
    return with_logprobs ? logprobs_of(logits, max, token, params.top_logprobs)
                         : EmittedToken{token, 0.0F, {}};
  }
  scale(logits, max, params.temperature, z_);
  const CandidateCut cut =
      cutter_.find(z_, params.top_k, params.top_p, params.min_p, params.joint_top_k_top_p);
  token = draw_gumbel(z_, cut, token, params.seed, context.position);
  return with_logprobs ? logprobs_of(z_, 0.0F, token, params.top_logprobs)
                       : EmittedToken{token, 0.0F, {}};
}

}  // namespace plumb
