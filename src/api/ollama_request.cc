// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_request.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/ollama_messages.h"
#include "api/ollama_options.h"
#include "base/text.h"

namespace plumb {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

// Beyond that a time is for ever anyway, and sums of it would not fit.
constexpr double kMostSeconds = 1e9;

struct DurationUnit {
  std::string_view name;
  double seconds;
};

// Longer names first where one begins with another.
constexpr DurationUnit kDurationUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"\xC2\xB5s", 1e-6},
                                           {"ms", 1e-3}, {"s", 1},     {"m", 60},
                                           {"h", 3600}};

Nanoseconds of_seconds(double seconds) {
  return std::chrono::duration_cast<Nanoseconds>(
      std::chrono::duration<double>(std::clamp(seconds, -kMostSeconds, kMostSeconds)));
}

// "" is none, "json" any object, an object a schema.
void read_format(FieldReader& fields, GenerationParams* params) {
  const Json* format = fields.find("format");
  if (format == nullptr || *format == Json("")) {
    return;
  }
  if (*format == Json("json")) {
    params->constraint.kind = ConstraintSpec::Kind::kJsonObject;
    params->constraint.param = fields.path("format");
  } else if (format->is_object()) {
    params->constraint = read_schema(fields, "format");
  } else {
    fields.fail(ApiError::wrong_type(fields.path("format"), "\"json\" or a JSON schema"));
  }
}

void read_token_logprobs(FieldReader& fields, const ApiLimits& limits, SamplingParams* sampling) {
  sampling->logprobs = fields.boolean("logprobs").value_or(false);
  const std::int64_t top = fields.integer("top_logprobs", 0, limits.max_logprobs).value_or(0);
  if (top > 0 && !sampling->logprobs) {
    fields.fail(ApiError::invalid(
        "invalid_value", fields.path("top_logprobs"),
        "'top_logprobs' is " + std::to_string(top) + ", which needs 'logprobs' true"));
  }
  sampling->top_logprobs = static_cast<int>(top);
}

void read_think(FieldReader& fields, JsonObject* template_kwargs) {
  const Json* think = fields.find("think");
  if (think == nullptr) {
    return;
  }
  if (think->is_bool()) {
    set_thinking(think->as_bool(), template_kwargs);
  } else if (const auto effort = fields.choice("think", {"low", "medium", "high"})) {
    set_reasoning_effort(*effort, template_kwargs);
  }
}

// What both routes have.
GenerationParams read_shared(FieldReader& fields, const SamplingDefaults& defaults,
                             const ApiLimits& limits, OllamaRequest* request) {
  request->model = fields.text("model").value_or("");
  if (fields.ok() && request->model.empty()) {
    fields.fail(ApiError::missing(fields.path("model")));
  }
  GenerationParams params = read_ollama_options(fields, defaults, limits);
  params.stream = fields.boolean("stream").value_or(true);
  read_format(fields, &params);
  read_token_logprobs(fields, limits, &params.sampling);
  request->keep_alive = read_keep_alive(fields);
  return params;
}

std::vector<TokenId> read_context(FieldReader& fields, const ApiLimits& limits) {
  std::vector<TokenId> ids;
  const JsonArray* items = fields.array("context", limits.max_token_ids);
  for (const Json& item : items == nullptr ? JsonArray() : *items) {
    std::int64_t id = 0;
    if (!item.to_int64(&id) || id < 0 || id > std::numeric_limits<TokenId>::max()) {
      fields.fail(ApiError::wrong_type(fields.path("context"), "an array of token ids"));
      return ids;
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

// A text field that is not offered: empty is the same as absent.
void refuse_text(FieldReader& fields, const char* name, const char* why) {
  if (!fields.text(name).value_or("").empty()) {
    fields.fail(ApiError::unsupported(fields.path(name), why));
  }
}

ChatRequest templated(GenerationParams params, const std::string& system,
                      const std::string& prompt) {
  ChatRequest chat;
  chat.generation = std::move(params);
  chat.generation.return_token_ids = true;  // for the next request's context
  if (!system.empty()) {
    chat.messages.emplace_back(JsonObject{{"role", "system"}, {"content", system}});
  }
  chat.messages.emplace_back(JsonObject{{"role", "user"}, {"content", prompt}});
  return chat;
}

// The rest of /api/generate.
void read_prompt(FieldReader& fields, const ApiLimits& limits, GenerationParams params,
                 OllamaRequest* request) {
  const std::string prompt = fields.text("prompt").value_or("");
  const std::string system = fields.text("system").value_or("");
  const bool is_raw = fields.boolean("raw").value_or(false);
  std::vector<TokenId> context = read_context(fields, limits);
  refuse_text(fields, "template", "templates come from the model only");
  refuse_text(fields, "suffix", "this model has no fill-in-the-middle template");
  check_no_images(fields);
  if (is_raw && !(system.empty() && context.empty())) {
    const char* name = system.empty() ? "context" : "system";
    fields.fail(ApiError::invalid("invalid_value", fields.path(name),
                                  "'" + fields.path(name) + "' and 'raw' exclude each other"));
  }
  JsonObject template_kwargs;
  read_think(fields, &template_kwargs);
  request->is_load = prompt.empty();
  if (is_raw) {
    CompletionRequest completion;
    completion.generation = std::move(params);
    completion.prompts.emplace_back(prompt);
    request->work = std::move(completion);
  } else {
    ChatRequest chat = templated(std::move(params), system, prompt);
    chat.context = std::move(context);
    chat.template_kwargs = std::move(template_kwargs);
    request->work = std::move(chat);
  }
}

// What both routes begin and end with; `read_rest` makes the work of the fields that are left.
template <class ReadRest>
std::variant<OllamaRequest, ApiError> read_ollama_body(const Json& body,
                                                       const SamplingDefaults& defaults,
                                                       const ApiLimits& limits,
                                                       const ReadRest& read_rest) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  OllamaRequest request;
  GenerationParams params = read_shared(fields, defaults, limits, &request);
  read_rest(fields, std::move(params), &request);
  if (!fields.ok()) {
    return *fields.error();
  }
  std::visit([&](auto& work) { work.ignored_fields = fields.ignored(); }, request.work);
  return request;
}

}  // namespace

const GenerationParams& OllamaRequest::generation() const {
  const auto* chat = std::get_if<ChatRequest>(&work);
  return chat != nullptr ? chat->generation : std::get<CompletionRequest>(work).generation;
}

std::optional<Nanoseconds> read_keep_alive(FieldReader& fields) {
  const Json* value = fields.find("keep_alive");
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_number()) {
    return of_seconds(value->as_double());
  }
  const auto time = value->is_string() ? parse_duration(value->as_string()) : std::nullopt;
  if (!time) {
    fields.fail(ApiError::wrong_type(fields.path("keep_alive"),
                                     "a number of seconds or a time such as \"5m\""));
  }
  return time;
}

std::optional<Nanoseconds> parse_duration(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  if (text == "0") {
    return Nanoseconds(0);
  }
  double seconds = 0;
  bool has_part = false;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    if (!parse_double(text.substr(0, size), &number)) {
      return std::nullopt;
    }
    text.remove_prefix(size);
    const auto* const unit =
        std::find_if(std::begin(kDurationUnits), std::end(kDurationUnits),
                     [text](const DurationUnit& row) { return text.starts_with(row.name); });
    if (unit == std::end(kDurationUnits)) {
      return std::nullopt;
    }
    text.remove_prefix(unit->name.size());
    seconds += number * unit->seconds;
    has_part = true;
  }
  return has_part ? std::optional(of_seconds(is_negative ? -seconds : seconds)) : std::nullopt;
}

std::string with_ollama_tag(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
  const bool has_tag = name.find(':', begin) != std::string_view::npos;
  return std::string(name) + (has_tag ? "" : ":latest");
}

CompletionRequest without_template(const ChatRequest& request) {
  CompletionRequest completion;
  completion.generation = request.generation;
  completion.prompts.emplace_back(request.messages.back().find("content")->as_string());
  completion.ignored_fields = request.ignored_fields;
  return completion;
}

std::variant<OllamaRequest, ApiError> read_ollama_chat(const Json& body,
                                                       const SamplingDefaults& defaults,
                                                       const ApiLimits& limits) {
  return read_ollama_body(
      body, defaults, limits,
      [&limits](FieldReader& fields, GenerationParams params, OllamaRequest* request) {
        ChatRequest chat;
        chat.generation = std::move(params);
        chat.messages = read_ollama_messages(fields, limits);
        chat.tool_use = read_ollama_tools(fields);
        read_think(fields, &chat.template_kwargs);
        request->is_load = chat.messages.empty();
        request->work = std::move(chat);
      });
}

std::variant<OllamaRequest, ApiError> read_ollama_generate(const Json& body,
                                                           const SamplingDefaults& defaults,
                                                           const ApiLimits& limits) {
  return read_ollama_body(
      body, defaults, limits,
      [&limits](FieldReader& fields, GenerationParams params, OllamaRequest* request) {
        read_prompt(fields, limits, std::move(params), request);
      });
}

}  // namespace plumb
