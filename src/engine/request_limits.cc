// SPDX-License-Identifier: Apache-2.0
#include "engine/request_limits.h"

#include <algorithm>
#include <string>

#include "grammar/compiled_grammar.h"
#include "sampling/logit_processor.h"

namespace plumb {
namespace {

Status check_prompt(const std::vector<TokenId>& prompt, const RequestLimits& limits) {
  if (prompt.empty()) {
    return {Code::kInvalidArgument, "prompt has no tokens, expected at least 1"};
  }
  for (const TokenId token : prompt) {
    if (token < 0 || token >= limits.vocab_size) {
      return {Code::kInvalidArgument, "prompt holds token " + std::to_string(token) +
                                          ", expected 0 to " +
                                          std::to_string(limits.vocab_size - 1)};
    }
  }
  return {};
}

}  // namespace

Status check_sampling(const SamplingParams& params, std::int64_t vocab_size) {
  PLUMB_RETURN_IF_ERROR(validate(params, vocab_size));
  for (const LogitProcessorSpec& spec : params.processors) {
    const Result<std::unique_ptr<LogitProcessor>> made = make_logit_processor(spec, vocab_size);
    PLUMB_RETURN_IF_ERROR(made.status());
  }
  return {};
}

Result<std::int64_t> check_request(const Request& request, const RequestLimits& limits) {
  PLUMB_RETURN_IF_ERROR(check_prompt(request.prompt, limits));
  PLUMB_RETURN_IF_ERROR(check_sampling(request.sampling, limits.vocab_size));
  if (request.grammar != nullptr && request.grammar->vocab().vocab_size() != limits.vocab_size) {
    return Status{Code::kInvalidArgument,
                  "grammar of a vocabulary of " +
                      std::to_string(request.grammar->vocab().vocab_size()) +
                      " tokens, the model has " + std::to_string(limits.vocab_size)};
  }
  if (request.priority < -kMaxPriority || request.priority > kMaxPriority) {
    return Status{Code::kInvalidArgument, "priority is " + std::to_string(request.priority) +
                                              ", expected " + std::to_string(-kMaxPriority) +
                                              " to " + std::to_string(kMaxPriority)};
  }
  const std::int64_t prompt_len = std::ssize(request.prompt);
  const std::int64_t most = std::min(limits.max_context_len, limits.kv_tokens) - prompt_len;
  const bool is_by_cache = limits.kv_tokens < limits.max_context_len;
  const std::string limit =
      is_by_cache ? "the KV cache of " + std::to_string(limits.kv_tokens) + " tokens"
                  : "the context of " + std::to_string(limits.max_context_len) + " tokens";
  if (most < 1) {
    return Status{Code::kInvalidArgument, "prompt of " + std::to_string(prompt_len) +
                                              " tokens leaves no room for an answer in " + limit};
  }
  if (request.sampling.max_tokens > most) {
    return Status{Code::kInvalidArgument,
                  "prompt of " + std::to_string(prompt_len) + " tokens and max_tokens " +
                      std::to_string(request.sampling.max_tokens) + " exceed " + limit +
                      ": max_tokens may be at most " + std::to_string(most)};
  }
  if (request.sampling.min_tokens > most) {
    return Status{Code::kInvalidArgument, "min_tokens is " +
                                              std::to_string(request.sampling.min_tokens) + ", " +
                                              limit + " leaves " + std::to_string(most)};
  }
  return request.sampling.max_tokens > 0 ? request.sampling.max_tokens : most;
}

}  // namespace plumb
