// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <utility>

#include "api/ids.h"
#include "base/text.h"
#include "server/openapi.h"
#include "server/server.h"

namespace plumb {
namespace {

constexpr std::chrono::seconds kMaxHeartbeatAge{20};

}  // namespace

void Server::add_routes() {
  const auto get = [this](const char* path, RouteClass access,
                          std::function<void(Transaction, const std::string&)> handler) {
    router_.add({"GET", path, access, std::move(handler)});
  };
  post_route("/v1/chat/completions", &Server::prepare_chat);
  post_route("/v1/completions", &Server::prepare_completion);
  add_messages_routes();
  add_response_routes();
  add_embedding_routes();
  for (const char* path : {"/tokenize", "/v1/tokenize"}) {
    post_route(path, &Server::prepare_tokenize);
  }
  for (const char* path : {"/detokenize", "/v1/detokenize"}) {
    post_route(path, &Server::prepare_detokenize);
  }
  post_route("/apply-template", &Server::prepare_template);
  post_route("/separate_reasoning", &Server::prepare_separate_reasoning);
  post_route("/parse_function_call", &Server::prepare_parse_function_call);
  get("/v1/models", RouteClass::kNormal,
      [this](Transaction x, const std::string&) { models(std::move(x)); });
  get("/v1/models/{id}", RouteClass::kNormal,
      [this](Transaction x, const std::string& id) { one_model(std::move(x), id); });
  for (const char* path : {"/health", "/v1/health", "/healthz", "/ping"}) {
    get(path, RouteClass::kPublic,
        [this](Transaction x, const std::string&) { health(std::move(x), false); });
  }
  for (const char* path : {"/ready", "/readyz"}) {
    get(path, RouteClass::kPublic,
        [this](Transaction x, const std::string&) { health(std::move(x), true); });
  }
  get("/metrics", options_.auth_metrics ? RouteClass::kNormal : RouteClass::kPublic,
      [this](Transaction x, const std::string&) { metrics(std::move(x)); });
  for (const char* path : {"/server_info", "/get_server_info"}) {
    get(path, RouteClass::kNormal,
        [this](Transaction x, const std::string&) { server_info(std::move(x)); });
  }
  add_cache_routes();
  add_ollama_routes();
  add_generate_routes();
  add_llamacpp_routes();
  add_operation_routes();
  add_memory_routes();
  add_weights_routes();
  get("/version", RouteClass::kPublic, [this](Transaction x, const std::string&) {
    x.send_json(JsonObject{{"version", parts_.version}});
  });
  add_web_routes();
  add_openapi_route(router_, parts_.version, options_.root_path);
}

ResponseEnvelope Server::envelope(std::string id, const GenerationParams& params) const {
  const ServedModelFacts& facts = parts_.service.model().facts();
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(parts_.clock.wall_now().time_since_epoch());
  return {std::move(id), now.count(), params.model.empty() ? facts.served_name : params.model,
          parts_.service.model().weights().fingerprint};
}

// A priority that nothing looks at is named as unknown fields are, or refused.
std::optional<ApiError> Server::ignore_priority(const GenerationParams& params,
                                                std::vector<std::string>* ignored) const {
  if (params.priority == 0 || parts_.service.uses_priority()) {
    return std::nullopt;
  }
  if (options_.strict_fields) {
    return ApiError::invalid("unsupported_parameter", "priority",
                             "'priority' is " + std::to_string(params.priority) +
                                 ", and nothing looks at it under this server's --schedule-policy "
                                 "and --evict-policy; leave it out");
  }
  ignored->push_back("priority");
  return std::nullopt;
}

Server::Prepared Server::prepare_conversation(ChatRequest request, std::string (*id)(),
                                              MakeChatFormat make_format, Launch launch) const {
  if (std::optional<ApiError> error = check_generates()) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_model(request.generation.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_fields(request.ignored_fields)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error =
          ignore_priority(request.generation, &request.ignored_fields)) {
    return *std::move(error);
  }
  auto choices = parts_.service.model().chat_choices(request, "");
  if (auto* error = std::get_if<ApiError>(&choices)) {
    return std::move(*error);
  }
  request.messages.clear();  // they are in the prompt
  return [request = std::move(request), id, make_format = std::move(make_format),
          launch = std::move(launch),
          ready = std::get<std::vector<ChoiceRequest>>(std::move(choices))](
             Server& server, Transaction transaction) mutable {
    transaction.add_ignored_fields(request.ignored_fields);
    GenerationParams& params = request.generation;
    ResponseEnvelope envelope = server.envelope(id(), params);
    envelope.received = transaction.received;
    describe_choices(params, ready, ready.size(), &envelope);
    params.choices_per_prompt = std::ssize(ready);
    std::unique_ptr<ResponseFormat> format = make_format(std::move(envelope), request, ready);
    server.start_call(std::move(transaction), std::move(format), params, std::move(ready), launch);
  };
}

Server::Prepared Server::prepare_chat(const Json& body, const Asker& /*asker*/) const {
  auto read = read_chat_request(body, parts_.service.model().facts().defaults, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  return prepare_conversation(
      std::get<ChatRequest>(std::move(read)), new_chat_id,
      [style = options_.chat](ResponseEnvelope envelope, const ChatRequest& request,
                              const std::vector<ChoiceRequest>&) {
        return make_chat_format(std::move(envelope), request, style);
      });
}

Server::Prepared Server::prepare_completion(const Json& body, const Asker& asker) const {
  auto read = read_completion_request(body, parts_.service.model().facts().defaults, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  CompletionRequest& request = std::get<CompletionRequest>(read);
  request.generation.choices_per_prompt = request.best_of;
  std::vector<std::string> texts = parts_.service.model().prompt_texts(request);
  return prepare_text(
      std::move(request), asker,
      [texts = std::move(texts)](ResponseEnvelope envelope, const CompletionRequest& made) {
        return make_completion_format(std::move(envelope), made, texts);
      });
}

Server::Prepared Server::prepare_text(CompletionRequest request, const Asker& asker,
                                      MakeTextFormat make_format) const {
  if (std::optional<ApiError> error = check_generates()) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_model(request.generation.model)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_fields(request.ignored_fields)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error =
          ignore_priority(request.generation, &request.ignored_fields)) {
    return *std::move(error);
  }
  auto choices = parts_.service.model().completion_choices(request, "", &asker.is_unwanted);
  if (auto* error = std::get_if<ApiError>(&choices)) {
    return std::move(*error);
  }
  return [request = std::move(request), make_format = std::move(make_format),
          ready = std::get<std::vector<ChoiceRequest>>(std::move(choices))](
             Server& server, Transaction transaction) mutable {
    transaction.add_ignored_fields(request.ignored_fields);
    const GenerationParams& params = request.generation;
    ResponseEnvelope envelope = server.envelope(new_completion_id(), params);
    envelope.received = transaction.received;
    describe_choices(params, ready, static_cast<std::size_t>(request.best_of), &envelope);
    std::unique_ptr<ResponseFormat> format = make_format(std::move(envelope), request);
    server.start_call(std::move(transaction), std::move(format), params, std::move(ready));
  };
}

void Server::health(Transaction transaction, bool is_readiness) const {
  const bool is_alive = parts_.service.is_healthy(kMaxHeartbeatAge) &&
                        (parts_.embeddings == nullptr || parts_.embeddings->is_healthy());
  const MemoryTags released = parts_.control == nullptr ? MemoryTags() : parts_.control->released();
  if (is_alive && is_readiness && released.any() && !is_draining_.load()) {
    transaction.send_error(ApiError::for_http(
        503, join(released.names(), ", ") +
                 " released; POST /resume_memory_occupation takes what is released back"));
    return;
  }
  if (is_alive && !(is_readiness && is_draining_.load())) {
    transaction.send_json(JsonObject{{"status", "ok"}});
    return;
  }
  transaction.send_error(ApiError::for_http(
      503, is_alive ? "the server is shutting down" : "the engine does not run"));
}

void Server::server_info(Transaction transaction) {
  Json info = parts_.describe();
  info.as_object().set("version", parts_.version);
  info.as_object().set("internal_states", internal_states());
  info.as_object().set("weight_version", parts_.service.model().weights().version);
  if (parts_.control != nullptr) {
    const std::vector<std::string> released = parts_.control->released().names();
    info.as_object().set("released_memory", JsonArray(released.begin(), released.end()));
  }
  if (kv_events_port() >= 0) {
    info.as_object().set("kv_events_port", std::int64_t{kv_events_port()});
  }
  transaction.send_json(info);
}

}  // namespace plumb
