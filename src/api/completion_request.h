// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "api/error.h"
#include "api/generation_params.h"
#include "base/json.h"
#include "base/token_id.h"

namespace plumb {

/// One prompt: text, or token ids.
using Prompt = std::variant<std::string, std::vector<TokenId>>;

/// A checked body of POST /v1/completions. Choice index = prompt index * n + sample.
struct CompletionRequest {
  GenerationParams generation;
  std::vector<Prompt> prompts;
  bool echo = false;
  bool add_special_tokens = true;  ///< for text prompts
  std::int64_t best_of = 1;  ///< candidates per prompt, of which the n most likely are returned
  std::vector<std::string> ignored_fields;
};

std::variant<CompletionRequest, ApiError> read_completion_request(const Json& body,
                                                                  const SamplingDefaults& defaults,
                                                                  const ApiLimits& limits);

/// A prompt field: string | array of strings | array of ids | array of id arrays | null (one empty
/// text).
std::vector<Prompt> read_prompts(FieldReader& fields, const char* name, const ApiLimits& limits);

}  // namespace plumb
