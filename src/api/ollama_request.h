// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/chat_request.h"
#include "api/completion_request.h"
#include "api/error.h"
#include "api/field_reader.h"
#include "api/generation_params.h"
#include "base/json.h"

namespace plumb {

/// A checked body of POST /api/chat or /api/generate. Both stream unless they say otherwise.
struct OllamaRequest {
  std::string model;  ///< as the client named it
  /// How long the model is to stay loaded; 0 = not at all, negative = for ever.
  std::optional<std::chrono::nanoseconds> keep_alive;
  bool is_load = false;  ///< there is nothing to answer
  /// A text completion where the prompt goes to the model as it is.
  std::variant<ChatRequest, CompletionRequest> work;

  const GenerationParams& generation() const;
};

std::variant<OllamaRequest, ApiError> read_ollama_chat(const Json& body,
                                                       const SamplingDefaults& defaults,
                                                       const ApiLimits& limits);

std::variant<OllamaRequest, ApiError> read_ollama_generate(const Json& body,
                                                           const SamplingDefaults& defaults,
                                                           const ApiLimits& limits);

/// The request of /api/generate for a model without a chat template: its prompt as it is. Requires
/// a ChatRequest of read_ollama_generate() without system and context.
CompletionRequest without_template(const ChatRequest& request);

/// The name of a model with its tag: "latest" where it has none.
std::string with_ollama_tag(std::string_view name);

/// The field of that name: seconds, or a time as parse_duration() reads it; nullopt without it.
std::optional<std::chrono::nanoseconds> read_keep_alive(FieldReader& fields);

/// A time as Ollama's clients write it: "5m", "1h30m", "-1s", "0"; nullopt for anything else.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

}  // namespace plumb
