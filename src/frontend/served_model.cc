// SPDX-License-Identifier: Apache-2.0
#include "frontend/served_model.h"

#include <utility>

#include "base/rng.h"
#include "request/cache_namespace.h"

namespace plumb {
namespace {

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  random_bytes(&seed, sizeof seed);
  return seed;
}

// The rendering cut into what the template wrote and what came from the client.
std::vector<Segment> segments_of(const Rendering& rendering) {
  std::vector<Segment> segments;
  for (const TextSegment& range : rendering.segments) {
    const auto begin = static_cast<std::size_t>(range.begin);
    const auto end = static_cast<std::size_t>(range.end);
    segments.push_back({rendering.text.substr(begin, end - begin), !range.is_data});
  }
  return segments;
}

// Copies of one choice that differ in the seed only.
void add_samples(const ChoiceRequest& first, std::int64_t n, std::vector<ChoiceRequest>* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    ChoiceRequest choice = first;
    choice.request.sampling.seed += static_cast<std::uint64_t>(i);
    out->push_back(std::move(choice));
  }
}

}  // namespace

ServedModel::ServedModel(ServedModelFacts facts, std::unique_ptr<Tokenizer> tokenizer,
                         std::unique_ptr<ChatTemplate> chat_template)
    : facts_(std::move(facts)),
      tokenizer_(std::move(tokenizer)),
      chat_template_(std::move(chat_template)) {
  for (TokenId id = 0; id < tokenizer_->vocab_size(); ++id) {
    longest_token_bytes_ = std::max(longest_token_bytes_, std::ssize(tokenizer_->token_bytes(id)));
  }
}

ChatInput ServedModel::inputs_of(const ChatRequest& request) const {
  ChatInput inputs;
  inputs.messages = request.messages;
  inputs.tools = request.tools;
  inputs.template_kwargs = request.template_kwargs;
  inputs.add_generation_prompt = request.add_generation_prompt && !request.continue_final_message;
  inputs.continue_final_message = request.continue_final_message;
  return inputs;
}

std::variant<std::string, ApiError> ServedModel::chat_text(const ChatRequest& request) const {
  if (chat_template_ == nullptr) {
    return ApiError::unsupported("messages",
                                 "this model has no chat template; use /v1/completions");
  }
  const Result<Rendering> rendered = chat_template_->render(inputs_of(request));
  if (!rendered.ok()) {
    return ApiError::invalid("invalid_value", "messages",
                             "chat template: " + rendered.status().message());
  }
  return rendered.value().text;
}

std::variant<std::vector<TokenId>, ApiError> ServedModel::chat_prompt(
    const ChatRequest& request) const {
  if (chat_template_ == nullptr) {
    return ApiError::unsupported("messages",
                                 "this model has no chat template; use /v1/completions");
  }
  const Result<Rendering> rendered = chat_template_->render(inputs_of(request));
  if (!rendered.ok()) {
    return ApiError::invalid("invalid_value", "messages",
                             "chat template: " + rendered.status().message());
  }
  if (std::optional<ApiError> error = check_bytes("messages", rendered.value().text.size())) {
    return *std::move(error);
  }
  return tokenizer_->encode_segments(segments_of(rendered.value()), false);
}

// Refuses what cannot fit before the time for tokenising it is spent.
std::optional<ApiError> ServedModel::check_bytes(const char* param, std::size_t num_bytes) const {
  const std::int64_t most = longest_token_bytes_ * facts_.context_len;
  if (static_cast<std::int64_t>(num_bytes) <= most) {
    return std::nullopt;
  }
  const auto tokens = static_cast<std::int64_t>(num_bytes) / longest_token_bytes_;
  ApiError error = ApiError::context_length(param, tokens, 1, facts_.context_len);
  error.message += "; '" + std::string(param) + "' has " + std::to_string(num_bytes) +
                   " bytes, which is at least that many tokens";
  return error;
}

std::optional<ApiError> ServedModel::check_length(const char* param, std::int64_t prompt_len,
                                                  std::int64_t max_tokens) const {
  if (prompt_len == 0) {
    return ApiError::invalid("invalid_value", param,
                             std::string("'") + param + "' gives no tokens, expected at least 1");
  }
  if (prompt_len >= facts_.context_len || prompt_len + max_tokens > facts_.context_len) {
    return ApiError::context_length(param, prompt_len, std::max<std::int64_t>(max_tokens, 1),
                                    facts_.context_len);
  }
  const std::int64_t needed = prompt_len + std::max<std::int64_t>(max_tokens, 1);
  if (facts_.kv_tokens > 0 && needed > facts_.kv_tokens) {
    return ApiError::invalid("request_too_large_for_kv_pool", param,
                             "'" + std::string(param) + "' and completion take " +
                                 std::to_string(needed) + " tokens, the KV cache holds " +
                                 std::to_string(facts_.kv_tokens));
  }
  return std::nullopt;
}

std::variant<ChoiceRequest, ApiError> ServedModel::make_choice(
    const char* param, const GenerationParams& params, std::vector<TokenId> prompt,
    const std::string& request_id) const {
  ChoiceRequest choice;
  choice.request.id = request_id;
  choice.request.sampling = params.sampling;
  if (std::optional<ApiError> error = check_length(param, static_cast<std::int64_t>(prompt.size()),
                                                   choice.request.sampling.max_tokens)) {
    return *std::move(error);
  }
  const Status status = validate(choice.request.sampling, tokenizer_->vocab_size());
  if (!status.ok()) {
    // The message begins with the field that it is about.
    const std::string field = status.message().substr(0, status.message().find(' '));
    return ApiError::invalid("invalid_value", field, status.message());
  }
  if (!params.has_seed) {
    choice.request.sampling.seed = random_seed();
  }
  choice.request.prompt = std::move(prompt);
  choice.request.priority = params.priority;
  choice.request.routing_key = params.routing_key;
  choice.request.cache_namespace = namespace_of({.salt = params.cache_salt});
  choice.request.timeout = params.timeout;
  choice.request.queue_timeout = params.queue_timeout;
  choice.text = {params.stops, params.include_stop_str, params.skip_special_tokens, false};
  return choice;
}

std::variant<std::vector<ChoiceRequest>, ApiError> ServedModel::chat_choices(
    const ChatRequest& request, const std::string& request_id) const {
  auto prompt = chat_prompt(request);
  if (auto* error = std::get_if<ApiError>(&prompt)) {
    return std::move(*error);
  }
  auto choice = make_choice("messages", request.generation,
                            std::get<std::vector<TokenId>>(std::move(prompt)), request_id);
  if (auto* error = std::get_if<ApiError>(&choice)) {
    return std::move(*error);
  }
  std::vector<ChoiceRequest> choices;
  add_samples(std::get<ChoiceRequest>(choice), request.generation.n, &choices);
  return choices;
}

std::variant<std::vector<ChoiceRequest>, ApiError> ServedModel::completion_choices(
    const CompletionRequest& request, const std::string& request_id) const {
  std::vector<ChoiceRequest> choices;
  for (const Prompt& prompt : request.prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    if (text != nullptr) {
      if (std::optional<ApiError> error = check_bytes("prompt", text->size())) {
        return *std::move(error);
      }
    }
    std::vector<TokenId> ids = text != nullptr
                                   ? tokenizer_->encode(*text, {request.add_special_tokens, true})
                                   : std::get<std::vector<TokenId>>(prompt);
    for (const TokenId id : ids) {
      if (id < 0 || id >= tokenizer_->vocab_size()) {
        return ApiError::invalid("invalid_value", "prompt",
                                 "token " + std::to_string(id) + " in 'prompt', expected 0 to " +
                                     std::to_string(tokenizer_->vocab_size() - 1));
      }
    }
    if (ids.empty() && tokenizer_->bos_id().has_value()) {
      ids.push_back(*tokenizer_->bos_id());
    }
    GenerationParams params = request.generation;
    if (params.sampling.max_tokens == 0) {  // echo only: one token is computed and not shown
      params.sampling.max_tokens = 1;
    }
    if (request.best_of > params.n) {
      params.sampling.logprobs = true;  // the ranking needs them
    }
    auto choice = make_choice("prompt", params, std::move(ids), request_id);
    if (auto* error = std::get_if<ApiError>(&choice)) {
      return std::move(*error);
    }
    add_samples(std::get<ChoiceRequest>(choice), request.best_of, &choices);
  }
  return choices;
}

std::string ServedModel::namespace_of(const CacheScope& scope) const {
  return cache_namespace({{"weights", facts_.weights_version},
                          {"salt", scope.salt},
                          {"principal", scope.principal},
                          {"request", scope.request}});
}

std::vector<std::string> ServedModel::prompt_texts(const CompletionRequest& request) const {
  std::vector<std::string> texts;
  for (const Prompt& prompt : request.echo ? request.prompts : std::vector<Prompt>()) {
    const auto* text = std::get_if<std::string>(&prompt);
    texts.push_back(text != nullptr ? *text
                                    : tokenizer_->decode(std::get<std::vector<TokenId>>(prompt),
                                                         {.skip_special = false}));
  }
  return texts;
}

}  // namespace plumb
