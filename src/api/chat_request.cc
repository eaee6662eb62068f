// SPDX-License-Identifier: Apache-2.0
#include "api/chat_request.h"

#include <utility>

namespace plumb {
namespace {

// One content part: only text is offered.
void check_part(FieldReader& part, const std::string& path) {
  const std::string type = part.text("type").value_or("");
  if (type == "text" || type == "refusal" || type == "thinking") {
    if (!part.text(type).has_value()) {
      part.fail(ApiError::missing(path + "." + type));
    }
  } else if (type == "image_url" || type == "input_audio" || type == "video_url" ||
             type == "file") {
    part.fail(ApiError::unsupported(path + ".type", "this model reads text only"));
  } else {
    part.fail(
        ApiError::invalid("invalid_value", path + ".type",
                          "'" + path + ".type' is '" + type.substr(0, 32) + "', expected 'text'"));
  }
}

void check_parts(FieldReader& fields, const JsonArray& parts, const std::string& path) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (!parts[i].is_object()) {
      fields.fail(ApiError::wrong_type(at, "an object"));
      return;
    }
    FieldReader part(parts[i].as_object(), at);
    check_part(part, at);
    part.find("prompt_cache_breakpoint");
    fields.absorb(part);
    if (!part.ok()) {
      return;
    }
  }
}

// A call of a function, or of a custom tool with its text.
void check_call(FieldReader& fields, const Json& item, const std::string& path) {
  const Json* type = item.find("type");
  const bool is_custom = type != nullptr && *type == Json("custom");
  const char* told_name = is_custom ? "custom" : "function";
  const Json* told = item.find(told_name);
  const Json* name = told == nullptr ? nullptr : told->find("name");
  if (name == nullptr || !name->is_string()) {
    fields.fail(ApiError::wrong_type(path, "an object with " + std::string(told_name) + ".name"));
    return;
  }
  FieldReader call(item.as_object(), path);
  FieldReader inner(told->as_object(), call.path(told_name));
  for (const char* field : {"id", "type", told_name}) {
    call.find(field);
  }
  inner.find("name");
  if (is_custom) {
    inner.needed_text("input");
  } else {
    inner.find("arguments");
  }
  fields.absorb(call);
  fields.absorb(inner);
}

void check_calls(FieldReader& fields, const JsonArray& calls, const std::string& path) {
  for (std::size_t i = 0; i < calls.size() && fields.ok(); ++i) {
    check_call(fields, calls[i], path + "[" + std::to_string(i) + "]");
  }
}

void check_message(FieldReader& fields, const Json& item, const std::string& path) {
  if (!item.is_object()) {
    fields.fail(ApiError::wrong_type(path, "an object"));
    return;
  }
  FieldReader message(item.as_object(), path);
  const std::optional<std::string> role =
      message.choice("role", {"system", "developer", "user", "assistant", "tool", "function"});
  if (message.ok() && !role.has_value()) {
    message.fail(ApiError::missing(path + ".role"));
  }
  const Json* content = message.find("content");
  const JsonArray* calls = message.array("tool_calls", 512);
  if (calls != nullptr) {
    check_calls(message, *calls, path + ".tool_calls");
  }
  if (content != nullptr && content->is_array()) {
    check_parts(message, content->as_array(), path + ".content");
  } else if (content != nullptr && !content->is_string()) {
    message.fail(ApiError::wrong_type(path + ".content", "a string or an array of content parts"));
  } else if (content == nullptr && message.ok() &&
             (role != "assistant" || (calls == nullptr && message.find("refusal") == nullptr &&
                                      message.find("function_call") == nullptr))) {
    message.fail(ApiError::missing(path + ".content"));
  }
  for (const char* name : {"name", "tool_call_id", "reasoning_content", "reasoning", "refusal"}) {
    message.text(name);
  }
  // An answer that is sent back has them; templates read what they know of it.
  for (const char* name : {"annotations", "function_call", "thinking"}) {
    message.find(name);
  }
  if (message.has("audio")) {
    message.fail(ApiError::unsupported(message.path("audio"), "this model reads text only"));
  }
  fields.absorb(message);
}

void check_template_kwargs(FieldReader& fields, const JsonObject& kwargs) {
  constexpr std::size_t kMaxKwargs = 64;
  const std::string path = fields.path("chat_template_kwargs");
  if (kwargs.size() > kMaxKwargs) {
    fields.fail(ApiError::invalid("invalid_value", path,
                                  "'" + path + "' has " + std::to_string(kwargs.size()) +
                                      " members, expected at most " + std::to_string(kMaxKwargs)));
  }
  for (const char* name : {"messages", "tools"}) {
    if (kwargs.find(name) != nullptr) {
      fields.fail(ApiError::invalid("invalid_value", path + "." + name,
                                    "'" + path + "." + name + "' would replace the checked '" +
                                        name + "'; send it as '" + name + "'"));
    }
  }
}

void read_template_fields(FieldReader& fields, ChatRequest* request) {
  request->template_kwargs = read_template_kwargs(fields);
  if (const std::optional<std::string> effort = fields.choice(
          "reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max"})) {
    set_reasoning_effort(*effort, &request->template_kwargs);
  }
  if (const JsonObject* thinking = fields.object("thinking")) {
    FieldReader inner(*thinking, fields.path("thinking"));
    if (const auto type = inner.choice("type", {"enabled", "disabled"})) {
      set_thinking(*type == "enabled", &request->template_kwargs);
    }
    fields.absorb(inner);
  }
  request->add_generation_prompt = fields.boolean("add_generation_prompt").value_or(true);
  request->continue_final_message = fields.boolean("continue_final_message").value_or(false);
  if (request->continue_final_message && fields.has("add_generation_prompt") &&
      request->add_generation_prompt) {
    fields.fail(ApiError::invalid(
        "invalid_value", fields.path("continue_final_message"),
        "'continue_final_message' and 'add_generation_prompt' exclude each other"));
  }
  if (fields.has("chat_template")) {
    fields.fail(
        ApiError::unsupported(fields.path("chat_template"), "templates come from the model only"));
  }
}

void read_reasoning_fields(FieldReader& fields, ReasoningOptions* reasoning) {
  reasoning->separate = fields.boolean("separate_reasoning").value_or(true);
  reasoning->stream = fields.boolean("stream_reasoning").value_or(true);
  reasoning->is_shown = fields.boolean("include_reasoning").value_or(true);
  const auto format = fields.choice("reasoning_format", {"none", "auto", "deepseek"});
  if (format == "none") {
    reasoning->separate = false;
  }
}

// The older function_call of an answer and the role function of its result, as tool calls.
void rename_functions(JsonArray* messages) {
  std::string last_id;
  int num_calls = 0;
  for (Json& item : *messages) {
    JsonObject& message = item.as_object();
    const Json* call = message.find("function_call");
    if (call != nullptr && call->is_object() && message.find("tool_calls") == nullptr) {
      last_id = "call_" + std::to_string(++num_calls);
      const Json function = *call;
      message.erase("function_call");
      message.set(
          "tool_calls",
          JsonArray{JsonObject{{"id", last_id}, {"type", "function"}, {"function", function}}});
    } else if (message.find("role")->as_string() == "function") {
      message.set("role", "tool");
      message.set("tool_call_id", last_id);
    }
  }
}

// Calls of custom tools as those of the functions that the model knows.
void rename_custom_calls(JsonObject* message) {
  Json* calls = message->find("tool_calls");
  if (calls == nullptr || !calls->is_array()) {
    return;
  }
  for (Json& call : calls->as_array()) {
    const Json* type = call.find("type");
    if (type == nullptr || *type != Json("custom")) {
      continue;
    }
    const Json* custom = call.find("custom");
    const std::string arguments = to_text(JsonObject{{"input", *custom->find("input")}});
    const JsonObject function{{"name", *custom->find("name")}, {"arguments", arguments}};
    call.as_object().erase("custom");
    call.as_object().set("type", "function");
    call.as_object().set("function", function);
  }
}

// Parts of an answer that is sent back: thoughts are its reasoning, a refusal is text. Its
// reasoning may stand under its other name.
void rename_parts(JsonObject* message) {
  const Json* reasoning = message->find("reasoning");
  if (reasoning != nullptr && reasoning->is_string() &&
      message->find("reasoning_content") == nullptr) {
    message->set("reasoning_content", Json(*reasoning));
  }
  Json* content = message->find("content");
  if (content == nullptr || !content->is_array()) {
    return;
  }
  JsonArray kept;
  std::string thoughts;
  for (const Json& part : content->as_array()) {
    const std::string& type = part.find("type")->as_string();
    if (type == "thinking") {
      thoughts += part.find("thinking")->as_string();
    } else if (type == "refusal") {
      kept.emplace_back(JsonObject{{"type", "text"}, {"text", *part.find("refusal")}});
    } else {
      kept.push_back(part);
    }
  }
  *content = std::move(kept);
  if (!thoughts.empty() && message->find("reasoning_content") == nullptr) {
    message->set("reasoning_content", thoughts);
  }
}

void read_logprobs(FieldReader& fields, const ApiLimits& limits, GenerationParams* params) {
  SamplingParams* const sampling = &params->sampling;
  sampling->logprobs = fields.boolean("logprobs").value_or(false);
  const std::optional<std::int64_t> top = fields.integer("top_logprobs", 0, limits.max_logprobs);
  if (top.has_value() && !sampling->logprobs) {
    fields.fail(ApiError::invalid(
        "invalid_value", fields.path("top_logprobs"),
        "'top_logprobs' is " + std::to_string(*top) + ", which needs 'logprobs' true"));
  }
  sampling->top_logprobs = static_cast<int>(top.value_or(0));
  params->logprobs_of_reasoning = fields.boolean("logprobs_reasoning").value_or(false);
  if (params->logprobs_of_reasoning && !sampling->logprobs) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("logprobs_reasoning"),
                                  "'logprobs_reasoning' is true, which needs 'logprobs' true"));
  }
}

void read_max_tokens(FieldReader& fields, SamplingParams* sampling) {
  const std::optional<std::int64_t> old_name = fields.integer("max_tokens", 1, kMostTokens);
  const std::optional<std::int64_t> new_name =
      fields.integer("max_completion_tokens", 1, kMostTokens);
  sampling->max_tokens = new_name.value_or(old_name.value_or(0));
}

}  // namespace

void set_thinking(bool is_on, JsonObject* template_kwargs) {
  for (const char* name : {"enable_thinking", "thinking"}) {
    if (template_kwargs->find(name) == nullptr) {
      template_kwargs->set(name, is_on);
    }
  }
}

void set_reasoning_effort(const std::string& effort, JsonObject* template_kwargs) {
  template_kwargs->set("reasoning_effort", effort);
  set_thinking(effort != "none", template_kwargs);
}

JsonObject read_template_kwargs(FieldReader& fields) {
  const JsonObject* kwargs = fields.object("chat_template_kwargs");
  if (kwargs == nullptr) {
    return {};
  }
  check_template_kwargs(fields, *kwargs);
  return *kwargs;
}

JsonArray read_messages(FieldReader& fields, const ApiLimits& limits) {
  const JsonArray* messages = fields.array("messages", limits.max_messages);
  if (messages == nullptr) {
    fields.fail(ApiError::missing(fields.path("messages")));
    return {};
  }
  if (messages->empty()) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("messages"),
                                  "'messages' is empty, expected at least 1"));
    return {};
  }
  for (std::size_t i = 0; i < messages->size(); ++i) {
    check_message(fields, (*messages)[i], fields.path("messages") + "[" + std::to_string(i) + "]");
  }
  JsonArray out = fields.ok() ? *messages : JsonArray();
  rename_functions(&out);
  for (Json& message : out) {
    rename_parts(&message.as_object());
    rename_custom_calls(&message.as_object());
  }
  return out;
}

std::variant<ChatRequest, ApiError> read_chat_request(const Json& body,
                                                      const SamplingDefaults& defaults,
                                                      const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  ChatRequest request;
  request.messages = read_messages(fields, limits);
  request.generation = read_generation_params(fields, defaults, limits);
  read_max_tokens(fields, &request.generation.sampling);
  read_logprobs(fields, limits, &request.generation);
  request.tool_use = read_tool_use(fields);
  for (const char* name : {"conversation", "prompt", "documents"}) {
    if (fields.has(name)) {
      fields.fail(ApiError::unsupported(fields.path(name), "this server does not offer it"));
    }
  }
  read_template_fields(fields, &request);
  read_reasoning_fields(fields, &request.reasoning);
  if (!request.reasoning.is_shown) {
    request.generation.logprobs_of_reasoning = false;  // its tokens would tell it
  }
  if (!fields.ok()) {
    return *fields.error();
  }
  request.ignored_fields = fields.ignored();
  return request;
}

}  // namespace plumb
