// SPDX-License-Identifier: Apache-2.0
#include "api/responses_request.h"

#include <algorithm>
#include <set>
#include <utility>

namespace plumb {
namespace {

// The fields that this API has for itself, or gives another meaning.
constexpr std::string_view kOwnFields[] = {"input",
                                           "instructions",
                                           "max_output_tokens",
                                           "previous_response_id",
                                           "store",
                                           "tools",
                                           "tool_choice",
                                           "parallel_tool_calls",
                                           "max_tool_calls",
                                           "reasoning",
                                           "text",
                                           "verbosity",
                                           "include",
                                           "top_logprobs",
                                           "truncation",
                                           "background",
                                           "prompt",
                                           "conversation",
                                           "context_management",
                                           "image",
                                           "stream_options",
                                           "background_options"};

// Fields of the other APIs that have no effect here: they count as unknown.
constexpr std::string_view kForeignFields[] = {"n",
                                               "best_of",
                                               "logprobs",
                                               "response_format",
                                               "return_token_ids",
                                               "return_meta_info",
                                               "return_tokens_as_token_ids",
                                               "prompt_logprobs",
                                               "return_prompt_logprobs",
                                               "functions",
                                               "function_call"};

constexpr const char* kIncludes[] = {"reasoning.encrypted_content",
                                     "message.output_text.logprobs",
                                     "message.input_image.image_url",
                                     "file_search_call.results",
                                     "web_search_call.results",
                                     "web_search_call.action.sources",
                                     "computer_call_output.output.image_url",
                                     "code_interpreter_call.outputs"};

constexpr std::int64_t kMaxIncludes = 64;

bool is_one_of(std::string_view name, const std::string_view* begin, const std::string_view* end) {
  return std::find(begin, end, name) != end;
}

// The body in its two halves: what this API reads itself, and what all APIs read alike.
struct Halves {
  JsonObject own;
  JsonObject common;
  std::vector<std::string> foreign;
};

Halves split_fields(const JsonObject& body) {
  Halves halves;
  for (const JsonMember& member : body) {
    if (is_one_of(member.key, std::begin(kOwnFields), std::end(kOwnFields))) {
      halves.own.append(member.key, member.value);
    } else if (is_one_of(member.key, std::begin(kForeignFields), std::end(kForeignFields))) {
      halves.foreign.push_back(member.key);
    } else {
      halves.common.append(member.key, member.value);
    }
  }
  return halves;
}

void read_include(FieldReader& fields, ResponsesRequest* request) {
  const JsonArray* include = fields.array("include", kMaxIncludes);
  for (std::size_t i = 0; include != nullptr && i < include->size(); ++i) {
    const std::string word = (*include)[i].is_string() ? (*include)[i].as_string() : "";
    if (std::find(std::begin(kIncludes), std::end(kIncludes), word) == std::end(kIncludes)) {
      const std::string path = fields.path("include") + "[" + std::to_string(i) + "]";
      std::string known;
      for (const char* name : kIncludes) {
        known += known.empty() ? "" : ", ";
        known += name;
      }
      fields.fail(ApiError::invalid(
          "invalid_value", path,
          "'" + path + "' is '" + word.substr(0, 64) + "', expected one of " + known));
    }
    request->shows_encrypted_reasoning |= word == "reasoning.encrypted_content";
    request->shows_logprobs |= word == "message.output_text.logprobs";
  }
}

std::optional<std::string> read_effort(FieldReader& reasoning) {
  return reasoning.choice("effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max"});
}

void read_reasoning_wish(FieldReader& fields, ResponsesRequest* request) {
  JsonObject told{{"effort", nullptr}, {"summary", nullptr}};
  if (const JsonObject* object = fields.object("reasoning")) {
    FieldReader reasoning(*object, fields.path("reasoning"));
    request->effort = read_effort(reasoning);
    const std::vector<std::string> kinds{"auto", "concise", "detailed"};
    const auto older = reasoning.choice("generate_summary", kinds);
    const auto summary = reasoning.choice("summary", kinds);
    reasoning.choice("context", {"auto", "current_turn", "all_turns"});
    reasoning.choice("mode", {"standard", "pro"});
    request->shows_summary = summary.has_value() || older.has_value();
    if (request->effort.has_value()) {
      told.set("effort", *request->effort);
    }
    if (request->shows_summary) {
      told.set("summary", summary.has_value() ? *summary : *older);
    }
    fields.absorb(reasoning);
  }
  request->echo.set("reasoning", std::move(told));
}

void read_text(FieldReader& fields, ResponsesRequest* request) {
  const std::vector<std::string> levels{"low", "medium", "high"};
  std::optional<std::string> verbosity = fields.choice("verbosity", levels);
  if (const JsonObject* object = fields.object("text")) {
    FieldReader text(*object, fields.path("text"));
    if (const auto inner = text.choice("verbosity", levels)) {
      verbosity = inner;
    }
    if (const JsonObject* format = text.object("format")) {
      request->format = *format;
    }
    fields.absorb(text);
  }
  JsonObject told{
      {"format", request->format.empty() ? JsonObject{{"type", "text"}} : request->format}};
  if (verbosity.has_value()) {
    told.append("verbosity", *verbosity);
  }
  request->echo.set("text", std::move(told));
}

void read_tokens(FieldReader& fields, const ApiLimits& limits, ResponsesRequest* request) {
  SamplingParams& sampling = request->generation.sampling;
  const auto max_tokens = fields.integer("max_output_tokens", 1, kMostTokens);
  sampling.max_tokens = max_tokens.value_or(0);
  request->generation.clamps_max_tokens = true;
  request->echo.set("max_output_tokens", max_tokens.has_value() ? Json(*max_tokens) : Json());
  const auto calls = fields.integer("max_tool_calls", 1, kMostTokens);  // of hosted tools
  request->echo.set("max_tool_calls", calls.has_value() ? Json(*calls) : Json());
  const std::int64_t top = fields.integer("top_logprobs", 0, limits.max_logprobs).value_or(0);
  request->echo.set("top_logprobs", top);
  sampling.logprobs = request->shows_logprobs;
  sampling.top_logprobs = request->shows_logprobs ? static_cast<int>(top) : 0;
}

void read_stream_options(FieldReader& fields, bool stream) {
  const JsonObject* object = fields.object("stream_options");
  if (object == nullptr) {
    return;
  }
  if (!stream) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("stream_options"),
                                  "'stream_options' is only allowed when 'stream' is true"));
    return;
  }
  FieldReader options(*object, fields.path("stream_options"));
  options.boolean("include_obfuscation");
  fields.absorb(options);
}

void read_own(FieldReader& fields, const ApiLimits& limits, ResponsesRequest* request) {
  request->input = read_responses_items(fields, limits.max_messages);
  request->instructions = fields.text("instructions");
  request->previous_response_id = fields.text("previous_response_id").value_or("");
  if (!fields.has("input") && request->previous_response_id.empty() && !fields.has("prompt")) {
    fields.fail(ApiError::missing(fields.path("input")));
  }
  request->store = fields.boolean("store").value_or(true);
  request->background = fields.boolean("background").value_or(false);
  if (request->background && !request->store) {
    fields.fail(ApiError::unsupported(fields.path("background"),
                                      "a response in the background needs 'store' true"));
  }
  request->truncates = fields.choice("truncation", {"auto", "disabled"}) == "auto";
  read_include(fields, request);
  read_reasoning_wish(fields, request);
  read_text(fields, request);
  read_tokens(fields, limits, request);
  read_stream_options(fields, request->generation.stream);
  for (const char* name : {"tools", "tool_choice", "parallel_tool_calls"}) {
    if (const Json* field = fields.find(name)) {
      request->tool_fields.append(name, *field);
    }
  }
  for (const char* name : {"prompt", "conversation", "context_management"}) {
    if (fields.has(name)) {
      fields.fail(ApiError::unsupported(fields.path(name), "this server does not offer it"));
    }
  }
  for (const char* harmless : {"image", "background_options"}) {
    fields.find(harmless);
  }
}

// What of the request the response tells, in the words of the client.
void tell_request(const JsonObject& body, ResponsesRequest* request) {
  const auto as_sent = [&](const char* name, const Json& fallback) {
    const Json* field = body.find(name);
    request->echo.set(name, field == nullptr || field->is_null() ? fallback : *field);
  };
  request->echo.set("instructions",
                    request->instructions.has_value() ? Json(*request->instructions) : Json());
  request->echo.set("previous_response_id", request->previous_response_id.empty()
                                                ? Json()
                                                : Json(request->previous_response_id));
  request->echo.set("store", request->store);
  request->echo.set("background", request->background);
  request->echo.set("temperature", request->generation.sampling.temperature);
  request->echo.set("top_p", request->generation.sampling.top_p);
  request->echo.set("truncation", request->truncates ? "auto" : "disabled");
  request->echo.set("service_tier", "default");
  as_sent("parallel_tool_calls", true);
  as_sent("tool_choice", "auto");
  as_sent("tools", JsonArray());
  as_sent("metadata", JsonObject());
  for (const char* name : {"prompt_cache_key", "safety_identifier", "user"}) {
    as_sent(name, {});
  }
}

void refuse_hosted_items(const ResponsesItems& input, FieldReader* fields) {
  if (!input.left_out.empty()) {
    fields->fail(ApiError::unsupported(
        fields->path("input"), "this server does not know items of the type '" +
                                   input.left_out.front().substr(0, 64) + "' (--hosted-items)"));
  }
}

}  // namespace

std::variant<ResponsesRequest, ApiError> read_responses_request(const Json& body,
                                                                const SamplingDefaults& defaults,
                                                                const ApiLimits& limits,
                                                                const HostedRules& hosted) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  const Halves halves = split_fields(body.as_object());
  ResponsesRequest request;
  FieldReader common(halves.common);
  request.generation = read_generation_params(common, defaults, limits);
  if (!common.ok()) {
    return *common.error();
  }
  FieldReader own(halves.own);
  read_own(own, limits, &request);
  if (hosted.refuses_items) {
    refuse_hosted_items(request.input, &own);
  }
  if (!own.ok()) {
    return *own.error();
  }
  tell_request(body.as_object(), &request);
  request.ignored_fields = halves.foreign;
  for (const FieldReader* reader : {&own, &common}) {
    for (std::string& name : reader->ignored()) {
      request.ignored_fields.push_back(std::move(name));
    }
  }
  return request;
}

}  // namespace plumb
