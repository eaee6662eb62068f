// SPDX-License-Identifier: Apache-2.0
#include "server/ollama_routes.h"

#include <functional>
#include <string_view>
#include <utility>

#include "api/ids.h"
#include "api/ollama_request.h"
#include "api/ollama_response.h"
#include "base/timestamp.h"
#include "frontend/ollama_format.h"

namespace plumb {
namespace {

constexpr int kTimeDigits = 6;

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
  if (model.can_call_tools()) {
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

void OllamaRoutes::add_routes(BodyPreparation& bodies) const {
  const auto post = [this, &bodies](const char* path, auto prepare) {
    bodies.post_route(path, std::bind_front(prepare, this), Dialect::kOllama);
  };
  const auto get = [this](const char* path, RouteClass access, auto handler) {
    context_.get_route(path, access, std::bind_front(handler, this), Dialect::kOllama);
  };
  post("/api/chat", &OllamaRoutes::prepare_ollama_chat);
  post("/api/generate", &OllamaRoutes::prepare_ollama_generate);
  post("/api/show", &OllamaRoutes::prepare_ollama_show);
  post("/api/pull", &OllamaRoutes::prepare_ollama_pull);
  get("/api/tags", RouteClass::kNormal, &OllamaRoutes::ollama_tags);
  get("/api/ps", RouteClass::kNormal, &OllamaRoutes::ollama_ps);
  get("/api/version", RouteClass::kPublic, &OllamaRoutes::ollama_version);
  if (!context_.options.web) {  // clients look with HEAD whether there is a server
    context_.get_route("/", RouteClass::kPublic, [this](Transaction x) {
      if (x.request.head_only) {
        x.send(200, "text/plain", "");
      } else {
        x.send_error(routing_.error(x.request, {}));
      }
    });
  }
}

Prepared OllamaRoutes::answer_load(const OllamaRequest& request, OllamaRoute route) const {
  const bool is_unload = request.keep_alive == std::chrono::nanoseconds(0);
  return model_.keeping(
      [this, model = request.model, is_unload, route](Transaction transaction) {
        transaction.send_json(
            OllamaResponse(route, model)
                .loaded(to_rfc3339(context_.parts.clock.wall_now(), kTimeDigits), is_unload));
      },
      request.keep_alive);
}

Prepared OllamaRoutes::prepare_ollama(OllamaRequest request, OllamaRoute route,
                                      const Asker& asker) const {
  if (std::optional<ApiError> error = model_.check(request.model)) {
    return *std::move(error);
  }
  if (request.is_load) {
    return answer_load(request, route);
  }
  const auto make_format = [this, route, model = request.model](ResponseEnvelope envelope,
                                                                const GenerationParams& params) {
    envelope.model = model;
    return make_ollama_format(route, std::move(envelope), params, context_.parts.clock);
  };
  Prepared prepared =
      std::holds_alternative<ChatRequest>(request.work)
          ? texts_.prepare_conversation(
                std::get<ChatRequest>(std::move(request.work)), new_chat_id,
                [make_format](ResponseEnvelope envelope, const ChatRequest& chat,
                              const std::vector<ChoiceRequest>&) {
                  return make_format(std::move(envelope), chat.generation);
                })
          : texts_.prepare_text(
                std::get<CompletionRequest>(std::move(request.work)), asker,
                [make_format](ResponseEnvelope envelope, const CompletionRequest& text) {
                  return make_format(std::move(envelope), text.generation);
                });
  return model_.keeping(std::move(prepared), request.keep_alive);
}

Prepared OllamaRoutes::prepare_ollama_chat(const Json& body, const Asker& asker) const {
  auto read = read_ollama_chat(body, context_.model().facts().defaults, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  return prepare_ollama(std::get<OllamaRequest>(std::move(read)), OllamaRoute::kChat, asker);
}

Prepared OllamaRoutes::prepare_ollama_generate(const Json& body, const Asker& asker) const {
  auto read = read_ollama_generate(body, context_.model().facts().defaults, context_.limits);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  OllamaRequest& request = std::get<OllamaRequest>(read);
  const auto* chat = std::get_if<ChatRequest>(&request.work);
  const bool is_prompt_alone =
      chat != nullptr && chat->messages.size() == 1 && chat->context.empty();
  if (is_prompt_alone && !context_.model().has_chat_template()) {
    CompletionRequest completion = without_template(*chat);
    request.work = std::move(completion);
  }
  return prepare_ollama(std::move(request), OllamaRoute::kGenerate, asker);
}

// A body that names the model and has little else, which `read` reads.
Prepared OllamaRoutes::prepare_named(
    const Json& body, const std::function<RouteContext::Handler(FieldReader&)>& read) const {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  const std::string name = named_model(fields);
  RouteContext::Handler answer = read(fields);
  if (!fields.ok()) {
    return *fields.error();
  }
  if (std::optional<ApiError> error = model_.check(name)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = context_.check_fields(fields.ignored())) {
    return *std::move(error);
  }
  return [answer = std::move(answer), ignored = fields.ignored()](Transaction transaction) {
    transaction.add_ignored_fields(ignored);
    answer(std::move(transaction));
  };
}

Prepared OllamaRoutes::prepare_ollama_show(const Json& body, const Asker& /*asker*/) const {
  return prepare_named(body, [this](FieldReader& fields) {
    fields.boolean("verbose");
    return [&service = context_.parts.service](Transaction transaction) {
      transaction.send_json(description_of(service.model(), service.can_generate()));
    };
  });
}

// The model that is served is there already, and no other can be had.
Prepared OllamaRoutes::prepare_ollama_pull(const Json& body, const Asker& /*asker*/) const {
  return prepare_named(body, [](FieldReader& fields) {
    const bool is_stream = fields.boolean("stream").value_or(true);
    fields.boolean("insecure");
    return [is_stream](Transaction transaction) {
      const std::string text = to_text(JsonObject{{"status", "success"}});
      if (is_stream) {
        transaction.send(200, "application/x-ndjson", text + "\n");
      } else {
        transaction.send(200, "application/json", text);
      }
    };
  });
}

void OllamaRoutes::ollama_tags(Transaction transaction) const {
  const ServedModelFacts& facts = context_.model().facts();
  const std::string name = with_ollama_tag(facts.served_name);
  transaction.send_json(
      JsonObject{{"models", JsonArray{JsonObject{{"name", name},
                                                 {"model", name},
                                                 {"modified_at", start_time(facts)},
                                                 {"size", facts.weight_bytes},
                                                 {"digest", context_.model().weights().digest},
                                                 {"details", details_of(facts)}}}}});
}

// Computed on processors: no part of the model is in a device's own memory.
void OllamaRoutes::ollama_ps(Transaction transaction) const {
  const ServedModelFacts& facts = context_.model().facts();
  const std::string name = with_ollama_tag(facts.served_name);
  transaction.send_json(JsonObject{
      {"models", JsonArray{JsonObject{{"name", name},
                                      {"model", name},
                                      {"size", facts.weight_bytes},
                                      {"digest", context_.model().weights().digest},
                                      {"details", details_of(facts)},
                                      {"expires_at", to_rfc3339(model_.expires_at(), kTimeDigits)},
                                      {"size_vram", 0},
                                      {"context_length", facts.context_len}}}}});
}

void OllamaRoutes::ollama_version(Transaction transaction) const {
  transaction.send_json(JsonObject{{"version", context_.parts.version}});
}

}  // namespace plumb
