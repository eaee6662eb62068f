// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/embedding_request.h"
#include "api/error.h"
#include "api/generation_params.h"
#include "base/json.h"

namespace plumb {

/// A checked body of POST /api/embed, or of the older /api/embeddings.
struct OllamaEmbedRequest {
  /// Without inputs the model is only loaded. Vectors of the older route are as they were pooled.
  EmbeddingRequest embedding;
  /// How long the model is to stay loaded; 0 = not at all, negative = for ever.
  std::optional<std::chrono::nanoseconds> keep_alive;
};

/// {model, input: a text or a list of them, truncate, dimensions, options, keep_alive}
std::variant<OllamaEmbedRequest, ApiError> read_ollama_embed(const Json& body,
                                                             const ApiLimits& limits);
/// {model, prompt, options, keep_alive}
std::variant<OllamaEmbedRequest, ApiError> read_ollama_embeddings(const Json& body,
                                                                  const ApiLimits& limits);

/// {"model","embeddings":[[…]],"total_duration","load_duration","prompt_eval_count"}
Json ollama_embeddings_to_json(const std::vector<std::vector<float>>& vectors,
                               const std::string& model, std::chrono::nanoseconds total,
                               std::int64_t num_tokens);

/// {"embedding":[…]}, empty without a vector: the answer of the older route.
Json ollama_embedding_to_json(const std::vector<std::vector<float>>& vectors);

}  // namespace plumb
