// SPDX-License-Identifier: Apache-2.0
#include "server/embedding_routes.h"

#include <functional>
#include <utility>

#include "api/embedding_response.h"
#include "api/ids.h"

namespace plumb {

void EmbeddingRoutes::add_routes(BodyPreparation& bodies) const {
  const auto post = [this, &bodies](const char* path, auto prepare,
                                    Dialect dialect = Dialect::kOpenAi) {
    bodies.post_route(path, std::bind_front(prepare, this), dialect);
  };
  post("/v1/embeddings", &EmbeddingRoutes::prepare_embeddings);
  post("/v1/score", &EmbeddingRoutes::prepare_score);
  for (const char* path : {"/v1/rerank", "/rerank", "/v2/rerank"}) {
    post(path, &EmbeddingRoutes::prepare_rerank);
  }
  post("/api/embed", &EmbeddingRoutes::prepare_ollama_embed, Dialect::kOllama);
  post("/api/embeddings", &EmbeddingRoutes::prepare_ollama_embeddings, Dialect::kOllama);
}

std::optional<ApiError> EmbeddingRoutes::check_embeds(const EmbeddingParams& params) const {
  if (context_.parts.embeddings == nullptr) {
    return ApiError::invalid("model_not_embedding", "model",
                             "'" + context_.served_name() +
                                 "' is served to generate text and gives no embeddings; serve an "
                                 "embedding model, or this one with --task embed");
  }
  return context_.check_fields(params.ignored_fields);
}

// What all dialects do with a request for vectors. `param` is the field that holds the inputs.
Prepared EmbeddingRoutes::prepare_vectors(EmbeddingRequest request, const char* param,
                                          const Asker& asker, VectorAnswer answer) const {
  if (std::optional<ApiError> error = check_embeds(request.params)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = context_.parts.embeddings->check_dimensions(request)) {
    return *std::move(error);
  }
  auto job =
      context_.parts.embeddings->prepare(request.inputs, request.params, param, asker.is_unwanted);
  if (auto* error = std::get_if<ApiError>(&job)) {
    return std::move(*error);
  }
  request.inputs.clear();  // they are in the job
  const std::int64_t num_tokens = num_tokens_of(std::get<EmbeddingJob>(job));
  const EmbeddingParams params = request.params;
  return embedding_answer(params, std::get<EmbeddingJob>(std::move(job)),
                          [request = std::move(request), num_tokens, answer = std::move(answer)](
                              const Transaction& transaction, Vectors vectors) {
                            for (std::vector<float>& vector : vectors) {
                              finish_vector(request, &vector);
                            }
                            return answer(transaction, vectors, num_tokens);
                          });
}

Prepared EmbeddingRoutes::prepare_embeddings(const Json& body, const Asker& asker) const {
  auto read = read_embedding_request(body, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  EmbeddingRequest& request = std::get<EmbeddingRequest>(read);
  if (std::optional<ApiError> error = context_.check_model(request.params.model)) {
    return *std::move(error);
  }
  const bool as_base64 = request.as_base64;
  return prepare_vectors(
      std::move(request), "input", asker,
      [this, as_base64](const Transaction&, const Vectors& vectors, std::int64_t num_tokens) {
        return embeddings_to_json(vectors, as_base64, context_.served_name(), num_tokens);
      });
}

// Without inputs it only asks whether the model is there.
Prepared EmbeddingRoutes::prepare_ollama_vectors(OllamaEmbedRequest request, const char* param,
                                                 const Asker& asker, VectorAnswer answer) const {
  const EmbeddingParams& params = request.embedding.params;
  if (std::optional<ApiError> error = ollama_.check(params.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_embeds(params)) {
    return *std::move(error);
  }
  Prepared prepared = [answer](Transaction transaction) {
    transaction.send_json(answer(transaction, {}, 0));
  };
  if (!request.embedding.inputs.empty()) {
    prepared = prepare_vectors(std::move(request.embedding), param, asker, std::move(answer));
  }
  return ollama_.keeping(std::move(prepared), request.keep_alive);
}

Prepared EmbeddingRoutes::prepare_ollama_embed(const Json& body, const Asker& asker) const {
  auto read = read_ollama_embed(body, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  OllamaEmbedRequest& request = std::get<OllamaEmbedRequest>(read);
  std::string model = request.embedding.params.model;
  return prepare_ollama_vectors(
      std::move(request), "input", asker,
      [this, model = std::move(model)](const Transaction& transaction, const Vectors& vectors,
                                       std::int64_t num_tokens) {
        const std::chrono::nanoseconds total = context_.parts.clock.now() - transaction.received;
        return ollama_embeddings_to_json(vectors, model, total, num_tokens);
      });
}

Prepared EmbeddingRoutes::prepare_ollama_embeddings(const Json& body, const Asker& asker) const {
  auto read = read_ollama_embeddings(body, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  return prepare_ollama_vectors(std::get<OllamaEmbedRequest>(std::move(read)), "prompt", asker,
                                [](const Transaction&, const Vectors& vectors, std::int64_t) {
                                  return ollama_embedding_to_json(vectors);
                                });
}

// The texts of two fields as one job, first those of the first.
std::variant<EmbeddingJob, ApiError> EmbeddingRoutes::pair_job(const TextField& first,
                                                               const TextField& second,
                                                               const EmbeddingParams& params,
                                                               const Asker& asker) const {
  if (std::optional<ApiError> error = context_.check_model(params.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_embeds(params)) {
    return *std::move(error);
  }
  EmbeddingJob both;
  for (const TextField& field : {first, second}) {
    const std::vector<Prompt> prompts(field.texts.begin(), field.texts.end());
    auto job = context_.parts.embeddings->prepare(prompts, params, field.name, asker.is_unwanted);
    if (auto* error = std::get_if<ApiError>(&job)) {
      return std::move(*error);
    }
    for (std::vector<TokenId>& sequence : std::get<EmbeddingJob>(job).sequences) {
      both.sequences.push_back(std::move(sequence));
    }
  }
  return both;
}

Prepared EmbeddingRoutes::prepare_score(const Json& body, const Asker& asker) const {
  auto read = read_score_request(body, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  const ScoreRequest& request = std::get<ScoreRequest>(read);
  auto job = pair_job({request.queries_field, request.queries},
                      {request.items_field, request.items}, request.params, asker);
  if (auto* error = std::get_if<ApiError>(&job)) {
    return std::move(*error);
  }
  const std::int64_t num_tokens = num_tokens_of(std::get<EmbeddingJob>(job));
  return embedding_answer(
      request.params, std::get<EmbeddingJob>(std::move(job)),
      [this, num_queries = request.queries.size(), num_tokens, as_lists = request.has_items_field](
          const Transaction&, const Vectors& vectors) {
        std::vector<double> scores;
        for (std::size_t i = num_queries; i < vectors.size(); ++i) {
          scores.push_back(cosine(vectors[num_queries == 1 ? 0 : i - num_queries], vectors[i]));
        }
        return scores_to_json(scores, as_lists, "score-" + random_hex(32), context_.unix_seconds(),
                              context_.served_name(), num_tokens);
      });
}

Prepared EmbeddingRoutes::prepare_rerank(const Json& body, const Asker& asker) const {
  auto read = read_rerank_request(body, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  RerankRequest& request = std::get<RerankRequest>(read);
  const std::vector<std::string> query{request.query};
  auto job = pair_job({"query", query}, {"documents", request.documents}, request.params, asker);
  if (auto* error = std::get_if<ApiError>(&job)) {
    return std::move(*error);
  }
  const std::int64_t num_tokens = num_tokens_of(std::get<EmbeddingJob>(job));
  const EmbeddingParams params = request.params;
  return embedding_answer(
      params, std::get<EmbeddingJob>(std::move(job)),
      [this, request = std::move(request), num_tokens](const Transaction&, const Vectors& vectors) {
        std::vector<double> scores;
        for (std::size_t i = 1; i < vectors.size(); ++i) {
          scores.push_back(cosine(vectors[0], vectors[i]));
        }
        return ranking_to_json(request, scores, "rerank-" + random_hex(32), context_.served_name(),
                               num_tokens);
      });
}

// The rest of the work: compute the vectors, then make the answer of them.
Prepared EmbeddingRoutes::embedding_answer(const EmbeddingParams& params, EmbeddingJob job,
                                           EmbeddingCalls::Answer answer) const {
  return [this, ignored = params.ignored_fields, job = std::move(job),
          answer = std::move(answer)](Transaction transaction) mutable {
    transaction.add_ignored_fields(ignored);
    calls_.start(std::move(transaction), std::move(job), std::move(answer));
  };
}

}  // namespace plumb
