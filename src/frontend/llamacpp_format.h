// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "api/llamacpp_request.h"
#include "api/llamacpp_response.h"
#include "frontend/response_format.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// Turns the biases of texts into those of their tokens.
/// Errors  invalid_value: more tokens than a request may name.
std::optional<ApiError> resolve_text_biases(const Tokenizer& tokenizer, const ApiLimits& limits,
                                            LlamaCppRequest* request);

/// The response of llama.cpp's native route: one answer for each prompt, several in an array.
std::unique_ptr<ResponseFormat> make_llamacpp_format(LlamaCppSetup setup, std::size_t num_answers);

}  // namespace plumb
