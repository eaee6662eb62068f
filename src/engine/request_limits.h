// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/status.h"
#include "request/request.h"

namespace plumb {

/// What a request must keep to; fixed when the engine starts.
struct RequestLimits {
  std::int64_t vocab_size = 0;
  std::int64_t max_context_len = 0;  ///< prompt and answer together
  std::int64_t kv_tokens = 0;        ///< that the cache holds
};

/// Checks the parameters of a request, its processors included.
/// Errors kInvalidArgument; the message begins with the field's name.
Status check_sampling(const SamplingParams& params, std::int64_t vocab_size);

/// Checks a request: tokens and parameters in range, lengths within the context, and room in an
/// empty cache, so that no accepted request can be impossible to finish. Returns the number of
/// tokens that it may produce (max_tokens, or what context and cache leave).
/// Errors kInvalidArgument, naming the value and the limit.
Result<std::int64_t> check_request(const Request& request, const RequestLimits& limits);

}  // namespace plumb
