// SPDX-License-Identifier: Apache-2.0
// Routes that answer with vectors or with their cosines.
#include <utility>

#include "api/embedding_request.h"
#include "api/embedding_response.h"
#include "api/ids.h"
#include "api/ollama_embed.h"
#include "frontend/embedding_service.h"
#include "server/request_timeout.h"
#include "server/server.h"

namespace plumb {

void Server::add_embedding_routes() {
  post_route("/v1/embeddings", &Server::prepare_embeddings);
  post_route("/v1/score", &Server::prepare_score);
  for (const char* path : {"/v1/rerank", "/rerank", "/v2/rerank"}) {
    post_route(path, &Server::prepare_rerank);
  }
  post_route("/api/embed", &Server::prepare_ollama_embed, Dialect::kOllama);
  post_route("/api/embeddings", &Server::prepare_ollama_embeddings, Dialect::kOllama);
}

std::optional<ApiError> Server::check_generates() const {
  if (parts_.service.can_generate()) {
    return std::nullopt;
  }
  return ApiError::invalid("model_not_generative", "model",
                           "'" + served_name() +
                               "' is served for embeddings and generates no text; use "
                               "/v1/embeddings, /v1/score or /v1/rerank");
}

std::optional<ApiError> Server::check_embeds(const EmbeddingParams& params) const {
  if (parts_.embeddings == nullptr) {
    return ApiError::invalid("model_not_embedding", "model",
                             "'" + served_name() +
                                 "' is served to generate text and gives no embeddings; serve an "
                                 "embedding model, or this one with --task embed");
  }
  return check_fields(params.ignored_fields);
}

// What all dialects do with a request for vectors. `param` is the field that holds the inputs.
Server::Prepared Server::prepare_vectors(EmbeddingRequest request, const char* param,
                                         const Asker& asker, VectorAnswer answer) const {
  if (std::optional<ApiError> error = check_embeds(request.params)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = parts_.embeddings->check_dimensions(request)) {
    return *std::move(error);
  }
  auto job = parts_.embeddings->prepare(request.inputs, request.params, param, asker.is_unwanted);
  if (auto* error = std::get_if<ApiError>(&job)) {
    return std::move(*error);
  }
  request.inputs.clear();  // they are in the job
  const std::int64_t num_tokens = num_tokens_of(std::get<EmbeddingJob>(job));
  const EmbeddingParams params = request.params;
  return embedding_answer(
      params, std::get<EmbeddingJob>(std::move(job)),
      [request = std::move(request), num_tokens, answer = std::move(answer)](
          const Server& server, const Transaction& transaction, EmbeddingVectors vectors) {
        for (std::vector<float>& vector : vectors) {
          finish_vector(request, &vector);
        }
        return answer(server, transaction, vectors, num_tokens);
      });
}

Server::Prepared Server::prepare_embeddings(const Json& body, const Asker& asker) const {
  auto read = read_embedding_request(body, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  EmbeddingRequest& request = std::get<EmbeddingRequest>(read);
  if (std::optional<ApiError> error = check_model(request.params.model)) {
    return *std::move(error);
  }
  const bool as_base64 = request.as_base64;
  return prepare_vectors(std::move(request), "input", asker,
                         [as_base64](const Server& server, const Transaction&,
                                     const EmbeddingVectors& vectors, std::int64_t num_tokens) {
                           return embeddings_to_json(vectors, as_base64, server.served_name(),
                                                     num_tokens);
                         });
}

// Without inputs it only asks whether the model is there.
Server::Prepared Server::prepare_ollama_vectors(OllamaEmbedRequest request, const char* param,
                                                const Asker& asker, VectorAnswer answer) const {
  const EmbeddingParams& params = request.embedding.params;
  if (std::optional<ApiError> error = check_ollama_model(params.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_embeds(params)) {
    return *std::move(error);
  }
  Prepared prepared = [answer](Server& server, Transaction transaction) {
    transaction.send_json(answer(server, transaction, {}, 0));
  };
  if (!request.embedding.inputs.empty()) {
    prepared = prepare_vectors(std::move(request.embedding), param, asker, std::move(answer));
  }
  if (std::holds_alternative<ApiError>(prepared)) {
    return prepared;
  }
  return [run = std::get<0>(std::move(prepared)), keep_alive = request.keep_alive](
             Server& server, Transaction transaction) {
    server.note_keep_alive(keep_alive);
    run(server, std::move(transaction));
  };
}

Server::Prepared Server::prepare_ollama_embed(const Json& body, const Asker& asker) const {
  auto read = read_ollama_embed(body, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  OllamaEmbedRequest& request = std::get<OllamaEmbedRequest>(read);
  std::string model = request.embedding.params.model;
  return prepare_ollama_vectors(
      std::move(request), "input", asker,
      [model = std::move(model)](const Server& server, const Transaction& transaction,
                                 const EmbeddingVectors& vectors, std::int64_t num_tokens) {
        const std::chrono::nanoseconds total = server.parts_.clock.now() - transaction.received;
        return ollama_embeddings_to_json(vectors, model, total, num_tokens);
      });
}

Server::Prepared Server::prepare_ollama_embeddings(const Json& body, const Asker& asker) const {
  auto read = read_ollama_embeddings(body, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  return prepare_ollama_vectors(
      std::get<OllamaEmbedRequest>(std::move(read)), "prompt", asker,
      [](const Server&, const Transaction&, const EmbeddingVectors& vectors, std::int64_t) {
        return ollama_embedding_to_json(vectors);
      });
}

// The texts of two fields as one job, first those of the first.
std::variant<EmbeddingJob, ApiError> Server::pair_job(const TextField& first,
                                                      const TextField& second,
                                                      const EmbeddingParams& params,
                                                      const Asker& asker) const {
  if (std::optional<ApiError> error = check_model(params.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_embeds(params)) {
    return *std::move(error);
  }
  EmbeddingJob both;
  for (const TextField& field : {first, second}) {
    const std::vector<Prompt> prompts(field.texts.begin(), field.texts.end());
    auto job = parts_.embeddings->prepare(prompts, params, field.name, asker.is_unwanted);
    if (auto* error = std::get_if<ApiError>(&job)) {
      return std::move(*error);
    }
    for (std::vector<TokenId>& sequence : std::get<EmbeddingJob>(job).sequences) {
      both.sequences.push_back(std::move(sequence));
    }
  }
  return both;
}

Server::Prepared Server::prepare_score(const Json& body, const Asker& asker) const {
  auto read = read_score_request(body, limits_);
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
      [num_queries = request.queries.size(), num_tokens, as_lists = request.has_items_field](
          const Server& server, const Transaction&, const EmbeddingVectors& vectors) {
        std::vector<double> scores;
        for (std::size_t i = num_queries; i < vectors.size(); ++i) {
          scores.push_back(cosine(vectors[num_queries == 1 ? 0 : i - num_queries], vectors[i]));
        }
        return scores_to_json(scores, as_lists, "score-" + random_hex(32), server.unix_seconds(),
                              server.served_name(), num_tokens);
      });
}

Server::Prepared Server::prepare_rerank(const Json& body, const Asker& asker) const {
  auto read = read_rerank_request(body, limits_);
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
      [request = std::move(request), num_tokens](const Server& server, const Transaction&,
                                                 const EmbeddingVectors& vectors) {
        std::vector<double> scores;
        for (std::size_t i = 1; i < vectors.size(); ++i) {
          scores.push_back(cosine(vectors[0], vectors[i]));
        }
        return ranking_to_json(request, scores, "rerank-" + random_hex(32), server.served_name(),
                               num_tokens);
      });
}

// The rest of the work: compute the vectors, then make the answer of them.
Server::Prepared Server::embedding_answer(const EmbeddingParams& params, EmbeddingJob job,
                                          EmbeddingAnswer answer) const {
  return [ignored = params.ignored_fields, job = std::move(job), answer = std::move(answer)](
             Server& server, Transaction transaction) mutable {
    transaction.add_ignored_fields(ignored);
    server.start_embedding(std::move(transaction), std::move(job), std::move(answer));
  };
}

void Server::start_embedding(Transaction transaction, EmbeddingJob job, EmbeddingAnswer answer) {
  auto timeout = request_timeout(transaction.request);
  if (const auto* error = std::get_if<ApiError>(&timeout)) {
    transaction.send_error(*error);
    return;
  }
  job.timeout = std::get<0>(timeout);
  const std::uint64_t id = next_call_++;
  const auto callback = [this, id](EmbeddingOutcome outcome) {
    // Shared because a posted function must be copyable; there is one user at a time.
    const auto shared = std::make_shared<EmbeddingOutcome>(std::move(outcome));
    loop_->post([this, id, shared] { end_embedding(id, std::move(*shared)); });
  };
  const Result<Embedder::JobId> submitted = parts_.embeddings->submit(std::move(job), callback);
  if (!submitted.ok()) {
    transaction.send_error(ApiError::from_status(submitted.status()));
    return;
  }
  count_call(1);
  const auto place =
      embedding_calls_
          .emplace(id, EmbeddingCall{std::move(transaction), submitted.value(), std::move(answer)})
          .first;
  // Later, because the call must not end inside its own writer, should the client be gone already.
  place->second.transaction.writer.on_disconnect(
      [this, id](DisconnectReason) { loop_->post([this, id] { drop_embedding(id); }); });
}

void Server::drop_embedding(std::uint64_t id) {
  const auto found = embedding_calls_.find(id);
  if (found == embedding_calls_.end()) {
    return;
  }
  parts_.embeddings->abort(found->second.job);
  found->second.transaction.count(kClientLeft);
  embedding_calls_.erase(found);
  count_call(-1);
}

void Server::end_embedding(std::uint64_t id, EmbeddingOutcome outcome) {
  const auto found = embedding_calls_.find(id);
  if (found == embedding_calls_.end()) {
    return;  // the client has left, or the shutdown has answered it
  }
  EmbeddingCall call = std::move(found->second);
  embedding_calls_.erase(found);
  if (outcome.ok()) {
    call.transaction.send_json(call.answer(*this, call.transaction, std::move(outcome).value()));
  } else {
    call.transaction.send_error(ApiError::from_status(outcome.status()));
  }
  count_call(-1);
}

void Server::abandon_embeddings() {
  for (auto& [id, call] : embedding_calls_) {
    parts_.embeddings->abort(call.job);
    call.transaction.send_error(shutting_down());
    count_call(-1);
  }
  embedding_calls_.clear();
}

const std::string& Server::served_name() const {
  return parts_.service.model().facts().served_name;
}

std::int64_t Server::unix_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(
             parts_.clock.wall_now().time_since_epoch())
      .count();
}

}  // namespace plumb
