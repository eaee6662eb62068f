// SPDX-License-Identifier: Apache-2.0
// The routes of Ollama's API over the one model that is served.
#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "api/ids.h"
#include "api/ollama_request.h"
#include "api/ollama_response.h"
#include "base/timestamp.h"
#include "frontend/ollama_format.h"
#include "server/server.h"

namespace plumb {
namespace {

constexpr int kTimeDigits = 6;
constexpr std::chrono::minutes kDefaultKeepAlive{5};
constexpr std::chrono::hours kForEver{24 * 365 * 100};

// What there is of Ollama's API only where models are kept in a store.
constexpr std::string_view kStorePaths[] = {"/api/create", "/api/push", "/api/copy", "/api/delete"};
constexpr std::string_view kBlobs = "/api/blobs/";

bool contains(std::span<const std::string_view> paths, std::string_view path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

Json details_of(const ServedModelFacts& facts) {
  const ModelDescription& model = facts.description;
  return JsonObject{{"parent_model", ""},
                    {"format", model.format},
                    {"family", model.family},
                    {"families", JsonArray{model.family}},
                    {"parameter_size", parameter_size(facts.num_parameters)},
                    {"quantization_level", model.quantization}};
}

std::string start_time(const ServedModelFacts& facts) {
  return to_rfc3339(std::chrono::system_clock::time_point(std::chrono::seconds(facts.created)), 0);
}

// The recommended sampling, a line for each value that is not neutral.
std::string parameter_lines(const SamplingDefaults& defaults) {
  const SamplingDefaults neutral;
  std::string lines;
  const auto add = [&lines](const char* name, const Json& value) {
    lines += (lines.empty() ? "" : "\n") + std::string(name) + " " + to_text(value);
  };
  if (defaults.temperature != neutral.temperature) {
    add("temperature", defaults.temperature);
  }
  if (defaults.top_p != neutral.top_p) {
    add("top_p", defaults.top_p);
  }
  if (defaults.top_k != neutral.top_k) {
    add("top_k", defaults.top_k);
  }
  if (defaults.min_p != neutral.min_p) {
    add("min_p", defaults.min_p);
  }
  if (defaults.repetition_penalty != neutral.repetition_penalty) {
    add("repeat_penalty", defaults.repetition_penalty);
  }
  return lines;
}

JsonArray capabilities_of(const ServedModel& model, bool can_generate) {
  if (!can_generate) {
    return {"embedding"};
  }
  JsonArray out{"completion"};
  if (model.is_told_of_tools() && model.output().tools() != nullptr) {
    out.emplace_back("tools");
  }
  if (model.output().reasoning() != nullptr) {
    out.emplace_back("thinking");
  }
  return out;
}

Json description_of(const ServedModel& model, bool can_generate) {
  const ServedModelFacts& facts = model.facts();
  return JsonObject{{"details", details_of(facts)},
                    {"model_info", facts.description.metadata},
                    {"capabilities", capabilities_of(model, can_generate)},
                    {"template", facts.description.chat_template},
                    {"parameters", parameter_lines(facts.defaults)},
                    {"modelfile", "FROM " + with_ollama_tag(facts.served_name)},
                    {"license", facts.description.license},
                    {"modified_at", start_time(facts)}};
}

// The name of a model in a body that has little else; "name" is the older field.
std::string named_model(FieldReader& fields) {
  const std::string older = fields.text("name").value_or("");
  std::string name = fields.text("model").value_or(older);
  if (fields.ok() && name.empty()) {
    fields.fail(ApiError::missing("model"));
  }
  return name;
}

}  // namespace

void Server::add_ollama_routes() {
  const auto get = [this](const char* path, RouteClass access, auto handler) {
    router_.add({"GET", path, access,
                 [this, handler](Transaction transaction, const std::string&) {
                   (this->*handler)(std::move(transaction));
                 },
                 Dialect::kOllama});
  };
  post_route("/api/chat", &Server::prepare_ollama_chat, Dialect::kOllama);
  post_route("/api/generate", &Server::prepare_ollama_generate, Dialect::kOllama);
  post_route("/api/show", &Server::prepare_ollama_show, Dialect::kOllama);
  post_route("/api/pull", &Server::prepare_ollama_pull, Dialect::kOllama);
  get("/api/tags", RouteClass::kNormal, &Server::ollama_tags);
  get("/api/ps", RouteClass::kNormal, &Server::ollama_ps);
  get("/api/version", RouteClass::kPublic, &Server::ollama_version);
  if (!options_.web) {  // clients look with HEAD whether there is a server
    router_.add({"GET", "/", RouteClass::kPublic, [this](Transaction x, const std::string&) {
                   if (x.request.head_only) {
                     x.send(200, "text/plain", "");
                   } else {
                     x.send_error(route_error(x.request, {}));
                   }
                 }});
  }
}

std::optional<ApiError> Server::ollama_route_error(std::string_view path) {
  if (contains(kStorePaths, path) || path.starts_with(kBlobs)) {
    return ApiError::not_found("no route " + std::string(path.substr(0, 128)) +
                               ": this server keeps no store of models");
  }
  return std::nullopt;
}

std::optional<ApiError> Server::check_ollama_model(const std::string& model) const {
  const std::string& served = parts_.service.model().facts().served_name;
  if (with_ollama_tag(model) == with_ollama_tag(served)) {
    return std::nullopt;
  }
  return ApiError::model_not_found(model, served);
}

void Server::note_keep_alive(std::optional<std::chrono::nanoseconds> keep_alive) {
  const auto now = parts_.clock.wall_now();
  const std::chrono::nanoseconds time = keep_alive.value_or(kDefaultKeepAlive);
  // In whole seconds: for ever does not fit a sum of nanoseconds.
  expires_at_ = now + (time.count() < 0 ? std::chrono::seconds(kForEver)
                                        : std::chrono::floor<std::chrono::seconds>(time));
}

Server::Prepared Server::answer_load(const OllamaRequest& request, OllamaRoute route) {
  return [model = request.model, keep_alive = request.keep_alive, route](Server& server,
                                                                         Transaction transaction) {
    server.note_keep_alive(keep_alive);
    const bool is_unload = keep_alive == std::chrono::nanoseconds(0);
    transaction.send_json(
        OllamaResponse(route, model)
            .loaded(to_rfc3339(server.parts_.clock.wall_now(), kTimeDigits), is_unload));
  };
}

Server::Prepared Server::prepare_ollama(OllamaRequest request, OllamaRoute route,
                                        const Asker& asker) const {
  if (std::optional<ApiError> error = check_ollama_model(request.model)) {
    return *std::move(error);
  }
  if (request.is_load) {
    return answer_load(request, route);
  }
  const auto make_format = [this, route, model = request.model](ResponseEnvelope envelope,
                                                                const GenerationParams& params) {
    envelope.model = model;
    return make_ollama_format(route, std::move(envelope), params, parts_.clock);
  };
  Prepared prepared =
      std::holds_alternative<ChatRequest>(request.work)
          ? prepare_conversation(std::get<ChatRequest>(std::move(request.work)), new_chat_id,
                                 [make_format](ResponseEnvelope envelope, const ChatRequest& chat,
                                               const std::vector<ChoiceRequest>&) {
                                   return make_format(std::move(envelope), chat.generation);
                                 })
          : prepare_text(std::get<CompletionRequest>(std::move(request.work)), asker,
                         [make_format](ResponseEnvelope envelope, const CompletionRequest& text) {
                           return make_format(std::move(envelope), text.generation);
                         });
  if (std::holds_alternative<ApiError>(prepared)) {
    return prepared;
  }
  return [run = std::get<0>(std::move(prepared)), keep_alive = request.keep_alive](
             Server& server, Transaction transaction) {
    server.note_keep_alive(keep_alive);
    run(server, std::move(transaction));
  };
}

Server::Prepared Server::prepare_ollama_chat(const Json& body, const Asker& asker) const {
  auto read = read_ollama_chat(body, parts_.service.model().facts().defaults, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  return prepare_ollama(std::get<OllamaRequest>(std::move(read)), OllamaRoute::kChat, asker);
}

Server::Prepared Server::prepare_ollama_generate(const Json& body, const Asker& asker) const {
  auto read = read_ollama_generate(body, parts_.service.model().facts().defaults, limits_);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  OllamaRequest& request = std::get<OllamaRequest>(read);
  const auto* chat = std::get_if<ChatRequest>(&request.work);
  const bool is_prompt_alone =
      chat != nullptr && chat->messages.size() == 1 && chat->context.empty();
  if (is_prompt_alone && !parts_.service.model().has_chat_template()) {
    CompletionRequest completion = without_template(*chat);
    request.work = std::move(completion);
  }
  return prepare_ollama(std::move(request), OllamaRoute::kGenerate, asker);
}

Server::Prepared Server::prepare_ollama_show(const Json& body, const Asker& /*asker*/) const {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  const std::string name = named_model(fields);
  fields.boolean("verbose");
  if (!fields.ok()) {
    return *fields.error();
  }
  if (std::optional<ApiError> error = check_ollama_model(name)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_fields(fields.ignored())) {
    return *std::move(error);
  }
  return [ignored = fields.ignored()](Server& server, Transaction transaction) {
    const TextService& service = server.parts_.service;
    transaction.add_ignored_fields(ignored);
    transaction.send_json(description_of(service.model(), service.can_generate()));
  };
}

// The model that is served is there already, and no other can be had.
Server::Prepared Server::prepare_ollama_pull(const Json& body, const Asker& /*asker*/) const {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  const std::string name = named_model(fields);
  const bool is_stream = fields.boolean("stream").value_or(true);
  fields.boolean("insecure");
  if (!fields.ok()) {
    return *fields.error();
  }
  if (std::optional<ApiError> error = check_ollama_model(name)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = check_fields(fields.ignored())) {
    return *std::move(error);
  }
  return [is_stream, ignored = fields.ignored()](Server&, Transaction transaction) {
    transaction.add_ignored_fields(ignored);
    const std::string text = to_text(JsonObject{{"status", "success"}});
    if (is_stream) {
      transaction.send(200, "application/x-ndjson", text + "\n");
    } else {
      transaction.send(200, "application/json", text);
    }
  };
}

void Server::ollama_tags(Transaction transaction) {
  const ServedModelFacts& facts = parts_.service.model().facts();
  const std::string digest = parts_.service.model().weights().digest;
  const std::string name = with_ollama_tag(facts.served_name);
  transaction.send_json(
      JsonObject{{"models", JsonArray{JsonObject{{"name", name},
                                                 {"model", name},
                                                 {"modified_at", start_time(facts)},
                                                 {"size", facts.weight_bytes},
                                                 {"digest", digest},
                                                 {"details", details_of(facts)}}}}});
}

// Computed on processors: no part of the model is in a device's own memory.
void Server::ollama_ps(Transaction transaction) {
  const ServedModelFacts& facts = parts_.service.model().facts();
  const std::string digest = parts_.service.model().weights().digest;
  const std::string name = with_ollama_tag(facts.served_name);
  const auto unused = parts_.clock.wall_now() + kDefaultKeepAlive;
  transaction.send_json(JsonObject{
      {"models",
       JsonArray{JsonObject{{"name", name},
                            {"model", name},
                            {"size", facts.weight_bytes},
                            {"digest", digest},
                            {"details", details_of(facts)},
                            {"expires_at", to_rfc3339(expires_at_.value_or(unused), kTimeDigits)},
                            {"size_vram", 0},
                            {"context_length", facts.context_len}}}}});
}

void Server::ollama_version(Transaction transaction) {
  transaction.send_json(JsonObject{{"version", parts_.version}});
}

}  // namespace plumb
