// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/embedding_request.h"
#include "api/ollama_embed.h"
#include "base/json.h"
#include "server/body_preparation.h"
#include "server/embedding_calls.h"
#include "server/ollama_model.h"
#include "server/route_context.h"

namespace plumb {

/// Routes that answer with vectors or with their cosines.
/// Thread: prepare_*(): any; the rest: construction.
class EmbeddingRoutes {
 public:
  EmbeddingRoutes(const RouteContext& context, EmbeddingCalls& calls, OllamaModel& ollama)
      : context_(context), calls_(calls), ollama_(ollama) {}

  void add_routes(BodyPreparation& bodies) const;

 private:
  using Vectors = EmbeddingCalls::Vectors;
  /// Makes the body of an answer of vectors that are as the request wants them.
  using VectorAnswer = std::function<Json(const Transaction& transaction, const Vectors& vectors,
                                          std::int64_t num_tokens)>;

  struct TextField {
    const char* name;
    const std::vector<std::string>& texts;
  };

  Prepared prepare_vectors(EmbeddingRequest request, const char* param, const Asker& asker,
                           VectorAnswer answer) const;
  Prepared prepare_embeddings(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_vectors(OllamaEmbedRequest request, const char* param, const Asker& asker,
                                  VectorAnswer answer) const;
  Prepared prepare_ollama_embed(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_embeddings(const Json& body, const Asker& asker) const;
  std::variant<EmbeddingJob, ApiError> pair_job(const TextField& first, const TextField& second,
                                                const EmbeddingParams& params,
                                                const Asker& asker) const;
  Prepared prepare_score(const Json& body, const Asker& asker) const;
  Prepared prepare_rerank(const Json& body, const Asker& asker) const;
  Prepared embedding_answer(const EmbeddingParams& params, EmbeddingJob job,
                            EmbeddingCalls::Answer answer) const;
  std::optional<ApiError> check_embeds(const EmbeddingParams& params) const;

  const RouteContext& context_;
  EmbeddingCalls& calls_;
  OllamaModel& ollama_;
};

}  // namespace plumb
