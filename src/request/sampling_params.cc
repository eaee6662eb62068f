// SPDX-License-Identifier: Apache-2.0
#include "request/sampling_params.h"

#include <cmath>
#include <string>

namespace plumb {
namespace {

Status range_error(const char* field, double value, const char* expected) {
  const std::string number = std::to_string(value);
  return {Code::kInvalidArgument, std::string(field) + " is " + number + ", expected " + expected};
}

bool within(double value, double low, double high) {
  return std::isfinite(value) && value >= low && value <= high;
}

Status validate_numbers(const SamplingParams& p) {
  if (!std::isfinite(p.temperature) || p.temperature < 0) {
    return range_error("temperature", p.temperature, "a finite number >= 0");
  }
  if (!within(p.top_p, 0, 1) || p.top_p == 0) {
    return range_error("top_p", p.top_p, "a number in (0, 1]");
  }
  if (!within(p.min_p, 0, 1)) {
    return range_error("min_p", p.min_p, "a number in [0, 1]");
  }
  if (!within(p.repetition_penalty, 0, 2) || p.repetition_penalty == 0) {
    return range_error("repetition_penalty", p.repetition_penalty, "a number in (0, 2]");
  }
  if (!within(p.frequency_penalty, -2, 2)) {
    return range_error("frequency_penalty", p.frequency_penalty, "a number in [-2, 2]");
  }
  if (!within(p.presence_penalty, -2, 2)) {
    return range_error("presence_penalty", p.presence_penalty, "a number in [-2, 2]");
  }
  return {};
}

Status validate_token(const char* field, TokenId token, std::int64_t vocab_size) {
  if (token < 0 || token >= vocab_size) {
    return {Code::kInvalidArgument, std::string(field) + " names token " + std::to_string(token) +
                                        ", expected 0 to " + std::to_string(vocab_size - 1)};
  }
  return {};
}

Status validate_logprobs(const char* field, int count) {
  if (count < 0 || count > 20) {
    return {Code::kInvalidArgument,
            std::string(field) + " is " + std::to_string(count) + ", expected 0 to 20"};
  }
  return {};
}

Status validate_bad_words(const SamplingParams& params, std::int64_t vocab_size) {
  for (const std::vector<TokenId>& word : params.bad_words) {
    if (word.empty()) {
      return {Code::kInvalidArgument,
              "bad_words holds an empty sequence, expected at least 1 token each"};
    }
    for (const TokenId token : word) {
      PLUMB_RETURN_IF_ERROR(validate_token("bad_words", token, vocab_size));
    }
  }
  return {};
}

}  // namespace

Status validate(const SamplingParams& params, std::int64_t vocab_size) {
  PLUMB_RETURN_IF_ERROR(validate_numbers(params));
  if (params.max_tokens < 0 || params.min_tokens < 0) {
    return {Code::kInvalidArgument, "max_tokens and min_tokens must not be negative"};
  }
  if (params.max_tokens > 0 && params.min_tokens > params.max_tokens) {
    return {Code::kInvalidArgument, "min_tokens is " + std::to_string(params.min_tokens) +
                                        ", expected at most max_tokens " +
                                        std::to_string(params.max_tokens)};
  }
  PLUMB_RETURN_IF_ERROR(validate_logprobs("top_logprobs", params.top_logprobs));
  PLUMB_RETURN_IF_ERROR(validate_logprobs("prompt_logprobs", params.prompt_top_logprobs));
  for (const auto& [token, bias] : params.logit_bias) {
    PLUMB_RETURN_IF_ERROR(validate_token("logit_bias", token, vocab_size));
    if (!within(bias, -100, 100)) {
      return range_error("logit_bias", bias, "a number in [-100, 100]");
    }
  }
  for (const TokenId token : params.allowed_token_ids) {
    PLUMB_RETURN_IF_ERROR(validate_token("allowed_token_ids", token, vocab_size));
  }
  PLUMB_RETURN_IF_ERROR(validate_bad_words(params, vocab_size));
  for (const TokenId token : params.stop_token_ids) {
    PLUMB_RETURN_IF_ERROR(validate_token("stop_token_ids", token, vocab_size));
  }
  return {};
}

}  // namespace plumb
