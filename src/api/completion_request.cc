// SPDX-License-Identifier: Apache-2.0
#include "api/completion_request.h"

#include <algorithm>
#include <limits>

namespace plumb {
namespace {

constexpr const char* kPromptTypes =
    "a string, an array of strings, of token ids, or of arrays of token ids";
constexpr std::int64_t kDefaultMaxTokens = 16;

bool read_ids(const JsonArray& items, std::vector<TokenId>* out) {
  out->reserve(items.size());
  return std::all_of(items.begin(), items.end(), [&](const Json& item) {
    std::int64_t id = 0;
    if (!item.to_int64(&id) || id < 0 || id > std::numeric_limits<TokenId>::max()) {
      return false;
    }
    out->push_back(static_cast<TokenId>(id));
    return true;
  });
}

// One element of a list of prompts.
bool read_one(const Json& item, std::vector<Prompt>* prompts) {
  if (item.is_string()) {
    prompts->emplace_back(item.as_string());
    return true;
  }
  std::vector<TokenId> ids;
  if (!item.is_array() || !read_ids(item.as_array(), &ids)) {
    return false;
  }
  prompts->emplace_back(std::move(ids));
  return true;
}

void read_lengths(FieldReader& fields, CompletionRequest* request, const ApiLimits& limits) {
  SamplingParams& sampling = request->generation.sampling;
  const std::optional<std::int64_t> max_tokens = fields.integer("max_tokens", 0, kMostTokens);
  sampling.max_tokens = max_tokens.value_or(kDefaultMaxTokens);
  if (max_tokens == 0 && !request->echo) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("max_tokens"),
                                  "'max_tokens' is 0, which is only allowed with 'echo'"));
  }
  if (const std::optional<std::int64_t> top = fields.integer("logprobs", 0, limits.max_logprobs)) {
    sampling.logprobs = true;
    sampling.top_logprobs = static_cast<int>(*top);
    if (request->echo && request->generation.return_prompt_logprobs &&
        sampling.prompt_top_logprobs != sampling.top_logprobs) {
      fields.fail(ApiError::invalid("invalid_value", fields.path("prompt_logprobs"),
                                    "'prompt_logprobs' is " +
                                        std::to_string(sampling.prompt_top_logprobs) +
                                        ", expected the value of 'logprobs' with 'echo'"));
    }
    if (request->echo) {
      sampling.prompt_logprobs = true;
      sampling.prompt_top_logprobs = sampling.top_logprobs;
    }
  }
  const std::int64_t n = request->generation.n;
  request->best_of = fields.integer("best_of", 1, limits.max_best_of).value_or(n);
  if (request->best_of < n) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("best_of"),
                                  "'best_of' is " + std::to_string(request->best_of) +
                                      ", expected at least n " + std::to_string(n)));
  }
  if (request->best_of > n && request->generation.stream) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("best_of"),
                                  "'best_of' above n cannot be streamed"));
  }
}

}  // namespace

std::vector<Prompt> read_prompts(FieldReader& fields, const char* name, const ApiLimits& limits) {
  std::vector<Prompt> prompts;
  const Json* field = fields.find(name);
  if (field == nullptr) {
    prompts.emplace_back(std::string());
    return prompts;
  }
  if (field->is_string()) {
    prompts.emplace_back(field->as_string());
    return prompts;
  }
  if (!field->is_array()) {
    fields.fail(ApiError::wrong_type(fields.path(name), kPromptTypes));
    return prompts;
  }
  const JsonArray* items = fields.array(name, limits.max_token_ids);
  if (items == nullptr) {
    return prompts;
  }
  if (items->empty()) {
    fields.fail(ApiError::invalid("invalid_value", fields.path(name),
                                  "'" + fields.path(name) + "' is an empty array"));
    return prompts;
  }
  if (items->front().is_number()) {
    std::vector<TokenId> ids;
    if (!read_ids(*items, &ids)) {
      fields.fail(ApiError::wrong_type(fields.path(name), kPromptTypes));
    }
    prompts.emplace_back(std::move(ids));
    return prompts;
  }
  if (static_cast<std::int64_t>(items->size()) > limits.max_prompts) {
    fields.fail(
        ApiError::invalid("invalid_value", fields.path(name),
                          "'" + fields.path(name) + "' has " + std::to_string(items->size()) +
                              " prompts, expected at most " + std::to_string(limits.max_prompts)));
    return prompts;
  }
  for (const Json& item : *items) {
    if (item.is_string() != items->front().is_string() || !read_one(item, &prompts)) {
      fields.fail(ApiError::wrong_type(fields.path(name), kPromptTypes));
      break;
    }
  }
  return prompts;
}

std::variant<CompletionRequest, ApiError> read_completion_request(const Json& body,
                                                                  const SamplingDefaults& defaults,
                                                                  const ApiLimits& limits) {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  CompletionRequest request;
  if (body.as_object().find("prompt") == nullptr) {
    fields.fail(ApiError::missing("prompt"));
  }
  request.prompts = read_prompts(fields, "prompt", limits);
  request.generation = read_generation_params(fields, defaults, limits);
  request.echo = fields.boolean("echo").value_or(false);
  request.add_special_tokens = fields.boolean("add_special_tokens").value_or(true);
  read_lengths(fields, &request, limits);
  for (const char* name : {"tools", "tool_choice", "functions", "function_call", "messages"}) {
    if (fields.has(name)) {
      fields.fail(ApiError::unsupported(fields.path(name), "use /v1/chat/completions"));
    }
  }
  if (fields.has("suffix")) {
    fields.fail(ApiError::unsupported(fields.path("suffix"),
                                      "this model has no fill-in-the-middle template"));
  }
  const auto total = static_cast<std::int64_t>(request.prompts.size()) * request.best_of;
  if (fields.ok() && total > limits.max_prompts) {
    fields.fail(ApiError::invalid("invalid_value", "n",
                                  "prompts times n is " + std::to_string(total) +
                                      ", expected at most " + std::to_string(limits.max_prompts)));
  }
  if (!fields.ok()) {
    return *fields.error();
  }
  request.ignored_fields = fields.ignored();
  return request;
}

}  // namespace plumb
