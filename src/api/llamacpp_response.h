// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/choice.h"
#include "api/llamacpp_request.h"
#include "base/json.h"

namespace plumb {

/// What is told of the answers of a request to llama.cpp's native route.
struct LlamaCppSetup {
  std::string model;
  JsonObject settings;         ///< "generation_settings" of the last object
  bool stream = false;         ///< the last object has no text: it went before
  bool return_tokens = false;  ///< an answer that is not streamed names its tokens too
  bool include_probs = false;
  bool is_empty = false;  ///< the token that was computed is not shown
};

/// What there is of an answer: all of it, or what is new.
struct LlamaCppPiece {
  std::int64_t index = 0;  ///< of the prompt
  std::string text;
  std::vector<TokenText> tokens;
};

/// The settings as they take effect; the seed is the request's, or 0.
JsonObject llamacpp_settings(const LlamaCppRequest& request);

/// One event of a stream; `so_far` counts the tokens of prompt and answer.
Json llamacpp_part(const LlamaCppSetup& setup, const LlamaCppPiece& piece, const Usage& so_far);

/// The last event of a stream, or the whole answer.
Json llamacpp_last(const LlamaCppSetup& setup, const LlamaCppPiece& piece, const ChoiceEnd& end);

}  // namespace plumb
