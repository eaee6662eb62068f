// SPDX-License-Identifier: Apache-2.0
#include "api/messages_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/messages_tools.h"

namespace plumb {
namespace {

// The client's helper for tools sends it first; at this very error it sends the whole conversation
// again. To ignore the field would lose what was said before.
ApiError no_threads(const std::string& param) {
  ApiError error =
      ApiError::unsupported(param, "conversations are not kept here; send all messages without it");
  error.extra.set("details", JsonObject{{"error_code", "thread_unsupported_request"}});
  return error;
}

void read_thinking(FieldReader& fields, MessagesRequest* request) {
  const JsonObject* object = fields.object("thinking");
  if (object == nullptr) {
    return;
  }
  FieldReader thinking(*object, fields.path("thinking"));
  const std::string type =
      thinking.choice("type", {"enabled", "adaptive", "disabled", "between_tools"}).value_or("");
  const std::optional<std::int64_t> budget = thinking.integer("budget_tokens", 1, kMostTokens);
  const std::optional<std::string> display = thinking.choice("display", {"summarized", "omitted"});
  if (thinking.ok() && type.empty()) {
    thinking.fail(ApiError::missing(thinking.path("type")));
  }
  fields.absorb(thinking);
  const bool is_on = type == "enabled" || type == "adaptive";
  set_thinking(is_on, &request->chat.template_kwargs);
  request->omits_thinking = display == "omitted";
  if (is_on && budget) {
    request->chat.generation.thinking_budget = budget;
  }
}

// {effort?, format?, task_budget?}
void read_output_config(FieldReader& fields, ChatRequest* chat) {
  ConstraintSpec format;
  if (const JsonObject* object = fields.object("output_config")) {
    FieldReader config(*object, fields.path("output_config"));
    if (const auto effort = config.choice("effort", {"low", "medium", "high", "xhigh", "max"})) {
      set_reasoning_effort(*effort, &chat->template_kwargs);
    }
    config.find("task_budget");
    format = read_output_format(config, "format");
    fields.absorb(config);
  }
  if (format.is_none()) {
    format = read_output_format(fields, "output_format");  // its former place
  }
  ConstraintSpec& constraint = chat->generation.constraint;
  if (!format.is_none() && !constraint.is_none()) {
    fields.fail(ApiError::invalid("invalid_value", format.param,
                                  "'" + constraint.param + "' and '" + format.param +
                                      "' both constrain the answer, expected at most one"));
  } else if (!format.is_none()) {
    constraint = std::move(format);
  }
}

void read_generation(FieldReader& fields, const SamplingDefaults& defaults, const ApiLimits& limits,
                     const MessagesOptions& options, GenerationParams* params) {
  if (!fields.has("model")) {
    fields.fail(ApiError::missing(fields.path("model")));
  }
  *params = read_generation_params(fields, defaults, limits);
  read_stop_strings(fields, "stop_sequences", limits, &params->stops);
  const std::optional<std::int64_t> max_tokens = fields.integer("max_tokens", 1, kMostTokens);
  if (!max_tokens && !options.is_count) {
    fields.fail(ApiError::missing(fields.path("max_tokens")));
  }
  params->sampling.max_tokens = max_tokens.value_or(0);
  params->clamps_max_tokens = true;
  params->include_usage = false;
  params->continuous_usage = false;
  const auto refuse = [&fields](bool is_asked, const char* name) {
    if (is_asked) {
      fields.fail(
          ApiError::unsupported(fields.path(name), "answers of this API have no place for it"));
    }
  };
  refuse(params->n != 1, "n");
  refuse(params->return_token_ids, "return_token_ids");
  refuse(params->return_prompt_logprobs, "prompt_logprobs");
  refuse(params->return_meta_info, "return_meta_info");
}

}  // namespace

std::variant<MessagesRequest, ApiError> read_messages_request(const Json& body,
                                                              const SamplingDefaults& defaults,
                                                              const ApiLimits& limits,
                                                              const MessagesOptions& options) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  if (fields.has("thread")) {
    return no_threads(fields.path("thread"));
  }
  MessagesRequest request;
  MessagesConversation conversation = read_conversation(fields, options, limits);
  request.has_late_system = conversation.has_late_system;
  ChatRequest& chat = request.chat;
  chat.messages = std::move(conversation.messages);
  chat.continue_final_message = conversation.has_prefill;
  chat.add_generation_prompt = !conversation.has_prefill;
  read_generation(fields, defaults, limits, options, &chat.generation);
  chat.template_kwargs = read_template_kwargs(fields);
  read_thinking(fields, &request);
  read_output_config(fields, &chat);
  std::vector<std::string>& ignored = chat.ignored_fields;
  chat.tool_use = read_messages_tools(fields, &ignored);
  for (const char* name : {"cache_control", "context_management", "compaction", "fallbacks"}) {
    fields.find(name);  // what the hosted service would do with the conversation
  }
  if (!fields.ok()) {
    return *fields.error();
  }
  std::vector<std::string> unknown = fields.ignored();
  for (std::vector<std::string>* more : {&conversation.ignored, &unknown}) {
    std::move(more->begin(), more->end(), std::back_inserter(ignored));
  }
  return request;
}

}  // namespace plumb
