// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/completion_request.h"
#include "api/error.h"
#include "api/generation_params.h"
#include "base/json.h"

namespace plumb {

/// A bias of all tokens of a text.
struct TextBias {
  std::string text;
  std::optional<float> bias;  ///< within ± 100; absent = the tokens are never chosen
};

/// A checked body of POST /completion, llama.cpp's native route.
struct LlamaCppRequest {
  CompletionRequest completion;  ///< its prompts are those below, once they are joined
  /// Of each prompt the parts, texts and token ids, which together are one prompt; at least one.
  std::vector<std::vector<Prompt>> prompts;
  std::vector<TextBias> text_biases;  ///< besides the biases of token ids, which are in completion
  bool return_tokens = false;
  bool is_empty = false;  ///< no token is wanted: one is computed and not shown
};

/// `defaults` are used where the request is silent.
std::variant<LlamaCppRequest, ApiError> read_llamacpp_request(const Json& body,
                                                              const SamplingDefaults& defaults,
                                                              const ApiLimits& limits);

}  // namespace plumb
