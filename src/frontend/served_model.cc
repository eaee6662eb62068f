// SPDX-License-Identifier: Apache-2.0
#include "frontend/served_model.h"

#include <algorithm>
#include <utility>

#include "base/rng.h"
#include "engine/request_limits.h"
#include "frontend/message_text.h"
#include "frontend/told_tools.h"
#include "request/cache_namespace.h"

namespace plumb {
namespace {

// Small enough for a double, so that a client can send it back whatever reads its JSON.
std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  random_bytes(&seed, sizeof seed);
  return seed >> 11;
}

// A word is spelled one way at the start of a line and another after a blank.
void add_bad_word(const Tokenizer& tokenizer, const BadWord& word, SamplingParams* sampling) {
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&word)) {
    sampling->bad_words.push_back(*ids);
    return;
  }
  const std::string& text = std::get<std::string>(word);
  for (const std::string& spelling : {text, " " + text}) {
    std::vector<TokenId> ids = tokenizer.encode(spelling, {.add_special = false});
    const bool is_new = std::find(sampling->bad_words.begin(), sampling->bad_words.end(), ids) ==
                        sampling->bad_words.end();
    if (!ids.empty() && is_new) {
      sampling->bad_words.push_back(std::move(ids));
    }
  }
}

std::optional<ApiError> add_thinking_budget(const ModelOutput& output,
                                            const GenerationParams& params,
                                            SamplingParams* sampling) {
  const std::optional<ModelOutput::Marks> marks = output.reasoning_tokens();
  if (!marks) {
    return ApiError::unsupported(params.thinking_budget_field,
                                 "this model's vocabulary has no tokens that mark reasoning, as "
                                 "<think> and </think> do");
  }
  sampling->processors.push_back({"thinking_budget",
                                  {{"budget", *params.thinking_budget},
                                   {"start_token_id", marks->begin},
                                   {"end_token_id", marks->end}}});
  return std::nullopt;
}

// Of a status whose message begins with the field that it is about.
ApiError field_error(const Status& status) {
  const std::string field = status.message().substr(0, status.message().find(' '));
  return status.code() == Code::kUnsupported
             ? ApiError::invalid("unsupported_parameter", field, status.message())
             : ApiError::invalid("invalid_value", field, status.message());
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

// What holds for all prompts of a completion.
GenerationParams completion_params(const CompletionRequest& request) {
  GenerationParams params = request.generation;
  if (!params.has_seed) {
    params.sampling.seed = random_seed();  // one for all, so that it can be told
    params.has_seed = true;
  }
  // Echo only: one token is computed and not shown.
  if (params.sampling.max_tokens == 0 && !params.clamps_max_tokens) {
    params.sampling.max_tokens = 1;
  }
  if (request.best_of > params.n) {
    params.sampling.logprobs = true;  // the ranking needs them
  }
  return params;
}

// Copies of one choice that differ in the seed only.
void add_samples(const ChoiceRequest& first, std::int64_t n, std::vector<ChoiceRequest>* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    ChoiceRequest choice = first;
    choice.request.sampling.seed += static_cast<std::uint64_t>(i);
    if (i > 0) {
      choice.constraint = {};
    }
    out->push_back(std::move(choice));
  }
}

bool tells_of_tools(const ChatTemplate& chat_template) {
  return chat_template.uses_variable("tools");
}

// A template that does not tell of tools is no sign of how to call them: they are told in text.
ParserOptions parsers_of(const ParserOptions& wanted, const ChatTemplate* chat_template) {
  ParserOptions parsers = wanted;
  if (parsers.tool_call_parser == "auto" && chat_template != nullptr &&
      !tells_of_tools(*chat_template)) {
    parsers.tool_call_parser = "hermes";
  }
  return parsers;
}

std::variant<Rendering, ApiError> render(const ChatTemplate* chat_template,
                                         const ChatInput& inputs) {
  if (chat_template == nullptr) {
    return ApiError::unsupported("messages",
                                 "this model has no chat template; use /v1/completions");
  }
  Result<Rendering> rendered = chat_template->render(inputs);
  if (!rendered.ok()) {
    const std::string why = rendered.status().message();
    const char* of = why.starts_with("template line ") ? "chat " : "chat template: ";
    return ApiError::invalid("invalid_value", "messages", of + why);
  }
  return std::move(rendered).value();
}

}  // namespace

ServedModel::ServedModel(ServedModelFacts facts, std::unique_ptr<Tokenizer> tokenizer,
                         std::unique_ptr<ChatTemplate> chat_template,
                         std::string_view template_source, const ParserOptions& parsers)
    : facts_(std::move(facts)),
      weights_{.fingerprint = facts_.fingerprint, .digest = facts_.description.digest},
      tokenizer_(std::move(tokenizer)),
      chat_template_(std::move(chat_template)),
      output_(parsers_of(parsers, chat_template_.get()), template_source, *tokenizer_) {
  for (TokenId id = 0; id < tokenizer_->vocab_size(); ++id) {
    longest_token_bytes_ = std::max(longest_token_bytes_, std::ssize(tokenizer_->token_bytes(id)));
  }
}

ServedWeights ServedModel::weights() const {
  const MutexLock lock(weights_mutex_);
  return weights_;
}

void ServedModel::set_weights(ServedWeights weights) {
  const MutexLock lock(weights_mutex_);
  weights_ = std::move(weights);
}

// Marks in the text become the control tokens which a model would say.
void ServedModel::add_script(std::string_view text, SamplingParams* sampling) const {
  if (tokenizer_->end_of_generation().empty()) {
    return;
  }
  JsonArray ids;
  for (const TokenId id : tokenizer_->encode(text, {.add_special = false, .parse_special = true})) {
    ids.emplace_back(id);
  }
  sampling->processors.push_back(
      {"script",
       {{"token_ids", std::move(ids)}, {"end_token_id", tokenizer_->end_of_generation().front()}}});
}

bool ServedModel::can_call_tools() const {
  return chat_template_ != nullptr && output_.tools() != nullptr;
}

ChatInput ServedModel::inputs_of(const ChatRequest& request) const {
  ChatInput inputs;
  inputs.messages = request.messages;
  inputs.tools = tools_for_template(request.tool_use);
  inputs.template_kwargs = request.template_kwargs;
  inputs.add_generation_prompt = request.add_generation_prompt && !request.continue_final_message;
  inputs.continue_final_message = request.continue_final_message;
  if (can_call_tools() && output_.tools()->name == "hermes" && !tells_of_tools(*chat_template_)) {
    tell_tools_in_text(&inputs);
  }
  return inputs;
}

std::variant<std::string, ApiError> ServedModel::chat_text(const ChatRequest& request) const {
  auto rendered = render(chat_template_.get(), inputs_of(request));
  if (auto* error = std::get_if<ApiError>(&rendered)) {
    return std::move(*error);
  }
  return std::get<Rendering>(std::move(rendered)).text;
}

std::variant<std::int64_t, ApiError> ServedModel::count_chat_tokens(
    const ChatRequest& request) const {
  auto rendered = render(chat_template_.get(), inputs_of(request));
  if (auto* error = std::get_if<ApiError>(&rendered)) {
    return std::move(*error);
  }
  std::vector<TokenId> ids =
      tokenizer_->encode_segments(segments_of(std::get<Rendering>(rendered)), false);
  if (std::optional<ApiError> error = put_behind(request.context, &ids)) {
    return *std::move(error);
  }
  return std::min(std::ssize(ids),
                  request.generation.truncate_prompt_tokens.value_or(std::ssize(ids)));
}

std::variant<std::vector<TokenId>, ApiError> ServedModel::chat_prompt(
    const ChatRequest& request) const {
  auto rendered = render(chat_template_.get(), inputs_of(request));
  if (auto* error = std::get_if<ApiError>(&rendered)) {
    return std::move(*error);
  }
  const auto& rendering = std::get<Rendering>(rendered);
  if (std::optional<ApiError> error = check_bytes("messages", rendering.text.size())) {
    return *std::move(error);
  }
  std::vector<TokenId> ids = tokenizer_->encode_segments(segments_of(rendering), false);
  if (std::optional<ApiError> error = put_behind(request.context, &ids)) {
    return *std::move(error);
  }
  return ids;
}

std::optional<ApiError> ServedModel::put_behind(const std::vector<TokenId>& context,
                                                std::vector<TokenId>* prompt) const {
  if (context.empty()) {
    return std::nullopt;
  }
  for (const TokenId id : context) {
    if (id < 0 || id >= tokenizer_->vocab_size()) {
      return ApiError::invalid("invalid_value", "context",
                               "token " + std::to_string(id) + " in 'context', expected 0 to " +
                                   std::to_string(tokenizer_->vocab_size() - 1));
    }
  }
  if (!prompt->empty() && tokenizer_->bos_id() == prompt->front()) {
    prompt->erase(prompt->begin());  // the context has one
  }
  prompt->insert(prompt->begin(), context.begin(), context.end());
  return std::nullopt;
}

// Refuses what cannot fit before the time for tokenising it is spent.
std::optional<ApiError> ServedModel::check_bytes(const char* param, std::size_t num_bytes) const {
  const std::int64_t most = longest_token_bytes_ * facts_.context_len;
  if (static_cast<std::int64_t>(num_bytes) <= most) {
    return std::nullopt;
  }
  const auto tokens = static_cast<std::int64_t>(num_bytes) / longest_token_bytes_;
  ApiError error = ApiError::context_length(param, tokens, 0, facts_.context_len);
  error.message += "; '" + std::string(param) + "' has " + std::to_string(num_bytes) +
                   " bytes, which is at least that many tokens";
  return error;
}

std::optional<ApiError> ServedModel::check_length(const char* param, std::int64_t prompt_len,
                                                  std::int64_t max_tokens,
                                                  std::int64_t context_len) const {
  if (prompt_len == 0) {
    return ApiError::invalid("invalid_value", param,
                             std::string("'") + param + "' gives no tokens, expected at least 1");
  }
  if (prompt_len >= context_len) {  // without room for an answer of any length
    return ApiError::context_length(param, prompt_len, 0, context_len);
  }
  if (prompt_len + max_tokens > context_len) {
    return ApiError::context_length(param, prompt_len, max_tokens, context_len);
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

// The completion tokens of a request that takes what there is room for; 0 = up to the context.
std::int64_t ServedModel::clamped(const GenerationParams& params, std::int64_t prompt_len,
                                  std::int64_t context_len) const {
  const std::int64_t wanted = params.sampling.max_tokens;
  const std::int64_t capacity =
      facts_.kv_tokens > 0 ? std::min(context_len, facts_.kv_tokens) : context_len;
  const std::int64_t room = std::max<std::int64_t>(capacity - prompt_len, 1);
  if (wanted == 0) {
    return params.context_limit > 0 ? room : 0;
  }
  return params.clamps_max_tokens ? std::min(wanted, room) : wanted;
}

std::optional<ApiError> ServedModel::fill_sampling(const GenerationParams& params,
                                                   SamplingParams* sampling) const {
  *sampling = params.sampling;
  for (const BadWord& word : params.bad_words) {
    add_bad_word(*tokenizer_, word, sampling);
  }
  if (params.thinking_budget) {
    if (std::optional<ApiError> error = add_thinking_budget(output_, params, sampling)) {
      return error;
    }
  }
  if (!params.has_seed) {
    sampling->seed = random_seed();
  }
  const Status status = check_sampling(*sampling, tokenizer_->vocab_size());
  return status.ok() ? std::nullopt : std::optional(field_error(status));
}

std::variant<ChoiceRequest, ApiError> ServedModel::make_choice(
    const char* param, const GenerationParams& params, std::vector<TokenId> prompt,
    const std::string& request_id) const {
  ChoiceRequest choice;
  choice.request.id = params.request_id.empty() ? request_id : params.request_id;
  if (const auto kept = params.truncate_prompt_tokens; kept && *kept < std::ssize(prompt)) {
    prompt.erase(prompt.begin(), prompt.end() - static_cast<std::ptrdiff_t>(*kept));
  }
  const std::int64_t context_len = params.context_limit > 0
                                       ? std::min(params.context_limit, facts_.context_len)
                                       : facts_.context_len;
  const std::int64_t max_tokens = clamped(params, std::ssize(prompt), context_len);
  if (std::optional<ApiError> error =
          check_length(param, std::ssize(prompt), max_tokens, context_len)) {
    if (context_len < facts_.context_len && error->code == "context_length_exceeded") {
      error->param = "options.num_ctx";
      error->message = "'options.num_ctx' is " + std::to_string(context_len) + ": " +
                       error->message + ", or raise 'options.num_ctx'";
    }
    return *std::move(error);
  }
  if (std::optional<ApiError> error = fill_sampling(params, &choice.request.sampling)) {
    return *std::move(error);
  }
  choice.request.sampling.max_tokens = max_tokens;
  choice.text = {params.stops, nullptr, params.sampling.min_tokens, params.include_stop_str,
                 params.skip_special_tokens};
  if (!params.stop_regex.empty()) {
    Result<std::shared_ptr<const StopRegex>> regex = StopRegex::compile(params.stop_regex);
    if (!regex.ok()) {
      return field_error(regex.status());
    }
    choice.text.stop_regex = std::move(regex).value();
  }
  choice.request.prompt = std::move(prompt);
  choice.request.priority = params.priority;
  choice.request.routing_key = params.routing_key;
  choice.request.cache_namespace = namespace_of({.salt = params.cache_salt});
  choice.request.timeout = params.timeout;
  choice.request.queue_timeout = params.queue_timeout;
  choice.stream_interval = params.stream_interval;
  choice.constraint = params.constraint;
  return choice;
}

std::variant<std::vector<ChoiceRequest>, ApiError> ServedModel::chat_choices(
    const ChatRequest& request, const std::string& request_id) const {
  if (chat_template_ != nullptr) {
    if (std::optional<ApiError> error = output_.check(request.tool_use)) {
      return *std::move(error);
    }
  }
  if (std::optional<ApiError> error =
          check_constraint_beside(request.generation.constraint, request.tool_use)) {
    return *std::move(error);
  }
  auto checks = compile_input_checks(request.tool_use);
  if (auto* error = std::get_if<ApiError>(&checks)) {
    return std::move(*error);
  }
  auto& inputs = std::get<std::vector<CheckedInput>>(checks);
  auto prompt = chat_prompt(request);
  if (auto* error = std::get_if<ApiError>(&prompt)) {
    return std::move(*error);
  }
  const ReasoningStart start = output_.start_of(std::get<std::vector<TokenId>>(prompt));
  auto made = make_choice("messages", request.generation,
                          std::get<std::vector<TokenId>>(std::move(prompt)), request_id);
  if (auto* error = std::get_if<ApiError>(&made)) {
    return std::move(*error);
  }
  auto& choice = std::get<ChoiceRequest>(made);
  if (facts_.echoes && !request.messages.empty()) {
    add_script(message_text(request.messages.back()), &choice.request.sampling);
  }
  choice.constraint = output_.constraint_for(request, start, inputs);
  choice.text.output = output_.options_for(request, start, std::move(inputs));
  std::vector<ChoiceRequest> choices;
  add_samples(choice, request.generation.n, &choices);
  return choices;
}

std::variant<std::vector<TokenId>, ApiError> ServedModel::completion_prompt(
    const Prompt& prompt, const CompletionRequest& request) const {
  const char* const field = request.generation.prompt_field;
  const auto* text = std::get_if<std::string>(&prompt);
  if (text != nullptr) {
    if (std::optional<ApiError> error = check_bytes(field, text->size())) {
      return *std::move(error);
    }
  }
  std::vector<TokenId> ids = text != nullptr
                                 ? tokenizer_->encode(*text, {request.add_special_tokens, true})
                                 : std::get<std::vector<TokenId>>(prompt);
  for (const TokenId id : ids) {
    if (id < 0 || id >= tokenizer_->vocab_size()) {
      return ApiError::invalid("invalid_value", field,
                               "token " + std::to_string(id) + " in '" + field +
                                   "', expected 0 to " +
                                   std::to_string(tokenizer_->vocab_size() - 1));
    }
  }
  if (ids.empty() && tokenizer_->bos_id().has_value()) {
    ids.push_back(*tokenizer_->bos_id());
  }
  return ids;
}

std::variant<std::vector<ChoiceRequest>, ApiError> ServedModel::completion_choices(
    const CompletionRequest& request, const std::string& request_id,
    const std::atomic<bool>* is_unwanted) const {
  std::vector<ChoiceRequest> choices;
  const GenerationParams params = completion_params(request);
  for (const Prompt& prompt : request.prompts) {
    if (is_unwanted != nullptr && is_unwanted->load()) {
      return ApiError::from_status({Code::kCancelled, "cancelled"});
    }
    auto ids = completion_prompt(prompt, request);
    if (auto* error = std::get_if<ApiError>(&ids)) {
      return std::move(*error);
    }
    auto choice = make_choice(params.prompt_field, params,
                              std::get<std::vector<TokenId>>(std::move(ids)), request_id);
    if (auto* error = std::get_if<ApiError>(&choice)) {
      return std::move(*error);
    }
    if (facts_.echoes) {
      const auto* text = std::get_if<std::string>(&prompt);
      add_script(text != nullptr ? *text
                                 : tokenizer_->decode(std::get<std::vector<TokenId>>(prompt),
                                                      {.skip_special = false}),
                 &std::get<ChoiceRequest>(choice).request.sampling);
    }
    add_samples(std::get<ChoiceRequest>(choice), request.best_of, &choices);
  }
  return choices;
}

std::variant<Prompt, ApiError> ServedModel::joined_prompt(std::vector<Prompt> parts) const {
  if (parts.size() == 1) {
    return std::move(parts.front());
  }
  std::size_t num_bytes = 0;
  for (const Prompt& part : parts) {
    const auto* text = std::get_if<std::string>(&part);
    num_bytes += text != nullptr ? text->size() : 0;
  }
  if (std::optional<ApiError> error = check_bytes("prompt", num_bytes)) {
    return *std::move(error);
  }
  std::vector<TokenId> ids;
  for (const Prompt& part : parts) {
    const auto* text = std::get_if<std::string>(&part);
    const bool is_first = &part == &parts.front();
    const std::vector<TokenId> more = text != nullptr ? tokenizer_->encode(*text, {is_first, true})
                                                      : std::get<std::vector<TokenId>>(part);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return Prompt(std::move(ids));
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
