// SPDX-License-Identifier: Apache-2.0
#include "api/chat_response.h"

#include <algorithm>
#include <utility>

namespace plumb {
ChatResponse::ChatResponse(ResponseEnvelope envelope, const GenerationParams& params,
                           bool is_function_form, const ChatStyle& style,
                           std::vector<std::string> custom_tools)
    : envelope_(std::move(envelope)),
      include_logprobs_(params.sampling.logprobs),
      include_usage_(params.include_usage),
      return_token_ids_(params.return_token_ids),
      return_prompt_logprobs_(params.return_prompt_logprobs),
      tokens_as_ids_(params.tokens_as_ids),
      return_meta_info_(params.return_meta_info),
      lists_reasoning_(params.logprobs_of_reasoning),
      is_function_form_(is_function_form),
      style_(style),
      custom_tools_(std::move(custom_tools)) {}

bool ChatResponse::is_custom(const std::string& tool) const {
  return std::find(custom_tools_.begin(), custom_tools_.end(), tool) != custom_tools_.end();
}

Json ChatResponse::logprobs(const std::vector<TokenText>& tokens, bool of_text,
                            bool of_reasoning) const {
  if (!include_logprobs_ || !(of_text || of_reasoning)) {
    return {};
  }
  const LogprobStyle style{
      .as_ids = tokens_as_ids_, .with_text = of_text, .with_reasoning = of_reasoning};
  return JsonObject{{"content", logprobs_to_json(tokens, style)}, {"refusal", nullptr}};
}

void ChatResponse::add_reasoning(const std::string& reasoning, JsonObject* message) const {
  if (style_.reasoning_field != ReasoningField::kReasoning) {
    message->append("reasoning_content", reasoning);
  }
  if (style_.reasoning_field != ReasoningField::kReasoningContent) {
    message->append("reasoning", reasoning);
  }
}

Json ChatResponse::chunk(std::int64_t index, JsonObject delta, Json logprobs, Json finish_reason,
                         const ChoiceEnd* end) const {
  JsonObject choice{{"index", index},
                    {"delta", std::move(delta)},
                    {"logprobs", std::move(logprobs)},
                    {"finish_reason", std::move(finish_reason)}};
  if (end != nullptr) {
    choice.append("stop_reason", stop_reason(*end));
    add_malformed(*end, &choice);
  }
  JsonObject out = envelope_.open("chat.completion.chunk");
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("choices", JsonArray{std::move(choice)});
  if (include_usage_) {
    out.append("usage", nullptr);
  } else if (end != nullptr) {
    envelope_.add_meta(&out);
  }
  return out;
}

Json ChatResponse::start(std::int64_t index) const {
  Json out = chunk(index, {{"role", "assistant"}, {"content", ""}}, {}, {}, nullptr);
  if (return_token_ids_) {
    out.as_object().append("prompt_token_ids", envelope_.prompt_ids_to_json(0));
  }
  return out;
}

// The id, the type and the name come once and alone, as clients add up what they get.
void ChatResponse::add_call(std::int64_t index, const ToolCallDelta& call,
                            std::vector<Json>* chunks) {
  if (add_custom_call(index, call, chunks)) {
    return;
  }
  const auto add = [&](JsonObject head, JsonObject function) {
    if (is_function_form_) {
      chunks->push_back(chunk(index, {{"function_call", std::move(function)}}, {}, {}, nullptr));
      return;
    }
    head.append("function", std::move(function));
    chunks->push_back(chunk(index, {{"tool_calls", JsonArray{std::move(head)}}}, {}, {}, nullptr));
  };
  if (is_function_form_ && call.index > 0) {
    return;  // that form has one call
  }
  if (call.is_first()) {
    add({{"index", call.index}, {"id", call.id}, {"type", "function"}},
        {{"name", call.name}, {"arguments", ""}});
  }
  if (!call.arguments.empty()) {
    add({{"index", call.index}}, {{"arguments", call.arguments}});
  }
}

// False for the call of a function.
bool ChatResponse::add_custom_call(std::int64_t index, const ToolCallDelta& call,
                                   std::vector<Json>* chunks) {
  const std::pair place{index, call.index};
  if (call.is_first() && is_custom(call.name)) {
    custom_calls_.insert_or_assign(place, CustomInputReader());
    JsonObject told{{"index", call.index},
                    {"id", call.id},
                    {"type", "custom"},
                    {"custom", JsonObject{{"name", call.name}, {"input", ""}}}};
    chunks->push_back(chunk(index, {{"tool_calls", JsonArray{std::move(told)}}}, {}, {}, nullptr));
  }
  const auto open = custom_calls_.find(place);
  if (open == custom_calls_.end()) {
    return false;
  }
  std::string input = open->second.push(call.arguments);
  if (call.has_ended) {
    input += open->second.finish();
    custom_calls_.erase(open);
  }
  if (!input.empty()) {
    JsonObject told{{"index", call.index}, {"custom", JsonObject{{"input", std::move(input)}}}};
    chunks->push_back(chunk(index, {{"tool_calls", JsonArray{std::move(told)}}}, {}, {}, nullptr));
  }
  return true;
}

std::vector<Json> ChatResponse::delta(const ChoiceDelta& delta) {
  std::vector<Json> chunks;
  const auto has_tokens = [&delta](AnswerKind kind) {
    return std::any_of(delta.tokens.begin(), delta.tokens.end(),
                       [kind](const TokenText& token) { return token.kind == kind; });
  };
  const bool lists_reasoning = lists_reasoning_ && has_tokens(AnswerKind::kReasoning);
  if (!delta.reasoning.empty() || lists_reasoning) {
    JsonObject told;
    add_reasoning(delta.reasoning, &told);
    chunks.push_back(chunk(delta.index, std::move(told),
                           logprobs(delta.tokens, false, lists_reasoning), {}, nullptr));
  }
  if (!delta.text.empty() || (include_logprobs_ && has_tokens(AnswerKind::kText))) {
    chunks.push_back(chunk(delta.index, {{"content", delta.text}},
                           logprobs(delta.tokens, true, false), {}, nullptr));
  }
  for (const ToolCallDelta& call : delta.calls) {
    add_call(delta.index, call, &chunks);
  }
  if (return_token_ids_ && !delta.tokens.empty()) {
    if (chunks.empty()) {
      chunks.push_back(chunk(delta.index, {{"content", ""}}, {}, {}, nullptr));
    }
    chunks.front()
        .as_object()
        .find("choices")
        ->as_array()
        .front()
        .as_object()
        .find("delta")
        ->as_object()
        .append("token_ids", token_ids_to_json(delta.tokens));
  }
  return chunks;
}

std::string_view ChatResponse::finish_reason(FinishReason reason) const {
  if (reason != FinishReason::kToolCalls) {
    return finish_reason_text(reason);
  }
  if (style_.named_call_stops) {
    return finish_reason_text(FinishReason::kStop);
  }
  return is_function_form_ ? "function_call" : finish_reason_text(reason);
}

void ChatResponse::add_malformed(const ChoiceEnd& end, JsonObject* choice) const {
  if (return_meta_info_ && !end.malformed_call.empty()) {
    choice->append("plumb", JsonObject{{"malformed_call", end.malformed_call}});
  }
}

Json ChatResponse::end(const ChoiceEnd& end) const {
  JsonObject delta;
  if (return_token_ids_ && (end.last_token || !end.cut_tokens.empty())) {
    delta.append("token_ids", counted_ids_to_json({}, end));
  }
  return chunk(end.index, std::move(delta), {}, finish_reason(end.reason), &end);
}

JsonObject ChatResponse::message(const std::vector<AnswerPart>& answer) const {
  const std::string text = text_of(answer);
  const std::string reasoning = text_of(answer, AnswerKind::kReasoning);
  JsonArray calls;
  for (const AnswerPart& part : answer) {
    if (part.kind != AnswerKind::kCall) {
      continue;
    }
    if (is_custom(part.name)) {
      CustomInputReader reader;
      std::string input = reader.push(part.text);
      input += reader.finish();
      calls.emplace_back(
          JsonObject{{"id", part.id},
                     {"type", "custom"},
                     {"custom", JsonObject{{"name", part.name}, {"input", std::move(input)}}}});
      continue;
    }
    JsonObject function{{"name", part.name}, {"arguments", part.text}};
    calls.emplace_back(
        is_function_form_
            ? std::move(function)
            : JsonObject{{"id", part.id}, {"type", "function"}, {"function", std::move(function)}});
  }
  const bool has_no_text = text.empty() && !(reasoning.empty() && calls.empty());
  JsonObject out{
      {"role", "assistant"}, {"content", has_no_text ? Json() : Json(text)}, {"refusal", nullptr}};
  if (!reasoning.empty()) {
    add_reasoning(reasoning, &out);
  }
  if (!calls.empty() && is_function_form_) {
    out.append("function_call", std::move(calls.front()));
  } else if (!calls.empty()) {
    out.append("tool_calls", std::move(calls));
  }
  return out;
}

Json ChatResponse::usage(const Usage& usage) const {
  JsonObject out = envelope_.open("chat.completion.chunk");
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("choices", JsonArray());
  out.append("usage", usage_to_json(usage));
  envelope_.add_meta(&out);
  return out;
}

Json ChatResponse::complete(const std::vector<std::vector<AnswerPart>>& answers,
                            const std::vector<std::vector<TokenText>>& tokens,
                            const std::vector<ChoiceEnd>& ends,
                            const std::vector<TokenText>& prompt) const {
  JsonArray choices;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    JsonObject choice{
        {"index", ends[i].index},
        {"message", message(answers[i])},
        {"logprobs", logprobs(tokens[i], true, lists_reasoning_)},
        {"finish_reason", finish_reason(ends[i].reason)},
        {"stop_reason", stop_reason(ends[i])},
    };
    add_malformed(ends[i], &choice);
    if (return_token_ids_) {
      choice.append("token_ids", counted_ids_to_json(tokens[i], ends[i]));
    }
    choices.emplace_back(std::move(choice));
  }
  JsonObject out = envelope_.open("chat.completion");
  out.append("choices", std::move(choices));
  out.append("usage", usage_to_json(sum_usage(ends, static_cast<std::int64_t>(ends.size()))));
  out.append("system_fingerprint", envelope_.system_fingerprint);
  out.append("service_tier", "default");
  if (return_prompt_logprobs_) {
    out.append("prompt_logprobs", prompt_logprobs_to_json(prompt));
  }
  if (return_token_ids_) {
    out.append("prompt_token_ids", envelope_.prompt_ids_to_json(0));
  }
  envelope_.add_meta(&out);
  return out;
}

}  // namespace plumb
