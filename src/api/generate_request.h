// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/completion_request.h"
#include "api/error.h"
#include "api/generation_params.h"
#include "base/json.h"

namespace plumb {

/// One prompt of a native request with what is asked about its answers.
struct GenerateItem {
  CompletionRequest completion;  ///< of that prompt; best_of = n = its samples
  std::string rid;               ///< the client's id of this prompt among several; empty = none
  std::optional<std::int64_t> logprob_start;  ///< first prompt token with a log probability
  bool is_empty = false;                      ///< no token is wanted: one is computed and not shown
};

/// A checked body of POST or PUT /generate.
struct GenerateRequest {
  std::vector<GenerateItem> items;  ///< with the same stream, n and constraint
  std::string rid;                  ///< the client's id of the request; empty = none
  bool is_batch = false;            ///< answered with an array, in a stream with indices
  std::optional<bool>
      is_incremental;  ///< events of a stream hold what is new; absent = the server's
  bool text_in_logprobs = false;
  std::vector<std::string> ignored_fields;

  bool stream() const { return items.front().completion.generation.stream; }

  std::int64_t num_samples() const { return items.front().completion.best_of; }
};

std::variant<GenerateRequest, ApiError> read_generate_request(const Json& body,
                                                              const ApiLimits& limits);

}  // namespace plumb
