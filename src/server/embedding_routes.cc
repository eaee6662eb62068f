// SPDX-License-Identifier: Apache-2.0
// Routes that answer with vectors or with their cosines.
#include <utility>

#include "api/embedding_request.h"
#include "api/embedding_response.h"
#include "api/ids.h"
#include "frontend/embedding_service.h"
#include "server/request_timeout.h"
#include "server/server.h"

namespace plumb {
namespace {

std::vector<Prompt> as_prompts(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

void Server::add_embedding_routes() {
  post_route("/v1/embeddings", &Server::prepare_embeddings);
  post_route("/v1/score", &Server::prepare_score);
  for (const char* path : {"/v1/rerank", "/rerank", "/v2/rerank"}) {
    post_route(path, &Server::prepare_rerank);
  }
}

std::optional<ApiError> Server::check_generates() const {
  if (parts_.service.can_generate()) {
    return std::nullopt;
  }
  return ApiError::invalid("model_not_generative", "model",
                           "'" + parts_.service.model().facts().served_name +
                               "' is served for embeddings and generates no text; use "
                               "/v1/embeddings, /v1/score or /v1/rerank");
}

std::optional<ApiError> Server::check_embeds(const EmbeddingParams& params) const {
  if (std::optional<ApiError> error = check_model(params.model)) {
    return error;
  }
  if (parts_.embeddings == nullptr) {
    return ApiError::invalid("model_not_embedding", "model",
                             "'" + parts_.service.model().facts().served_name +
                                 "' is served to generate text and gives no embeddings; serve an "
                                 "embedding model, or this one with --task embed");
  }
  return check_fields(params.ignored_fields);
}

Server::Prepared Server::prepare_embeddings(const Json& body, const Asker& asker) const {
  auto read = read_embedding_request(body, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  EmbeddingRequest& request = std::get<EmbeddingRequest>(read);
  if (std::optional<ApiError> error = check_embeds(request.params)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = parts_.embeddings->check_dimensions(request)) {
    return *std::move(error);
  }
  auto job = parts_.embeddings->prepare(request.inputs, request.params, "input", asker.is_unwanted);
  if (auto* error = std::get_if<ApiError>(&job)) {
    return std::move(*error);
  }
  request.inputs.clear();  // they are in the job
  const std::int64_t num_tokens = num_tokens_of(std::get<EmbeddingJob>(job));
  return embedding_answer(request.params, std::get<EmbeddingJob>(std::move(job)),
                          [request, num_tokens](const Server& server, EmbeddingVectors vectors) {
                            for (std::vector<float>& vector : vectors) {
                              finish_vector(request, &vector);
                            }
                            return embeddings_to_json(vectors, request.as_base64,
                                                      server.served_name(), num_tokens);
                          });
}

Server::Prepared Server::prepare_score(const Json& body, const Asker& asker) const {
  auto read = read_score_request(body, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  const ScoreRequest& request = std::get<ScoreRequest>(read);
  if (std::optional<ApiError> error = check_embeds(request.params)) {
    return *std::move(error);
  }
  std::vector<Prompt> texts = as_prompts(request.queries);
  const std::size_t num_queries = texts.size();
  texts.insert(texts.end(), request.items.begin(), request.items.end());
  auto job = parts_.embeddings->prepare(texts, request.params, "texts", asker.is_unwanted);
  if (auto* error = std::get_if<ApiError>(&job)) {
    return std::move(*error);
  }
  const std::int64_t num_tokens = num_tokens_of(std::get<EmbeddingJob>(job));
  return embedding_answer(
      request.params, std::get<EmbeddingJob>(std::move(job)),
      [num_queries, num_tokens, has_items_field = request.has_items_field](
          const Server& server, const EmbeddingVectors& vectors) {
        std::vector<double> scores;
        for (std::size_t i = num_queries; i < vectors.size(); ++i) {
          scores.push_back(cosine(vectors[num_queries == 1 ? 0 : i - num_queries], vectors[i]));
        }
        return scores_to_json(scores, has_items_field, "score-" + random_hex(32),
                              server.unix_seconds(), server.served_name(), num_tokens);
      });
}

Server::Prepared Server::prepare_rerank(const Json& body, const Asker& asker) const {
  auto read = read_rerank_request(body, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  RerankRequest& request = std::get<RerankRequest>(read);
  if (std::optional<ApiError> error = check_embeds(request.params)) {
    return *std::move(error);
  }
  std::vector<Prompt> texts = as_prompts(request.documents);
  texts.emplace_back(request.query);
  auto job = parts_.embeddings->prepare(texts, request.params, "documents", asker.is_unwanted);
  if (auto* error = std::get_if<ApiError>(&job)) {
    return std::move(*error);
  }
  const std::int64_t num_tokens = num_tokens_of(std::get<EmbeddingJob>(job));
  EmbeddingParams params = request.params;
  return embedding_answer(params, std::get<EmbeddingJob>(std::move(job)),
                          [request = std::move(request), num_tokens](
                              const Server& server, const EmbeddingVectors& vectors) {
                            std::vector<double> scores;
                            for (std::size_t i = 0; i + 1 < vectors.size(); ++i) {
                              scores.push_back(cosine(vectors.back(), vectors[i]));
                            }
                            return ranking_to_json(request, scores, "rerank-" + random_hex(32),
                                                   server.served_name(), num_tokens);
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
    call.transaction.send_json(call.answer(*this, std::move(outcome).value()));
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
