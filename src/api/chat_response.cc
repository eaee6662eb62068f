// SPDX-License-Identifier: Apache-2.0
#include "api/chat_response.h"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

Json bytes_to_json(const std::string& bytes) {
  JsonArray out;
  for (const char c : bytes) {
    out.emplace_back(static_cast<int>(static_cast<unsigned char>(c)));
  }
  return out;
}

JsonObject token_to_json(const TokenText& token, bool as_id) {
  return {{"token", token_name(token, as_id)},
          {"logprob", logprob_to_json(token.logprob)},
          {"bytes", bytes_to_json(token.bytes)}};
}

}  // namespace

ChatResponse::ChatResponse(ResponseEnvelope envelope, const GenerationParams& params,
                           bool is_function_form)
    : envelope_(std::move(envelope)),
      include_logprobs_(params.sampling.logprobs),
      include_usage_(params.include_usage),
      return_token_ids_(params.return_token_ids),
      return_prompt_logprobs_(params.return_prompt_logprobs),
      tokens_as_ids_(params.tokens_as_ids),
      return_meta_info_(params.return_meta_info),
      is_function_form_(is_function_form) {}

Json ChatResponse::logprobs(const std::vector<TokenText>& tokens) const {
  if (!include_logprobs_) {
    return {};
  }
  JsonArray content;
  for (const TokenText& token : tokens) {
    if (token.kind != AnswerKind::kText) {
      continue;
    }
    JsonObject entry = token_to_json(token, tokens_as_ids_);
    JsonArray top;
    for (const TokenText& other : token.top) {
      top.emplace_back(token_to_json(other, tokens_as_ids_));
    }
    entry.append("top_logprobs", std::move(top));
    content.emplace_back(std::move(entry));
  }
  return JsonObject{{"content", std::move(content)}, {"refusal", nullptr}};
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
                            std::vector<Json>* chunks) const {
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

std::vector<Json> ChatResponse::delta(const ChoiceDelta& delta) const {
  std::vector<Json> chunks;
  if (!delta.reasoning.empty()) {
    chunks.push_back(chunk(delta.index, {{"reasoning_content", delta.reasoning}}, {}, {}, nullptr));
  }
  const bool has_text_tokens =
      std::any_of(delta.tokens.begin(), delta.tokens.end(),
                  [](const TokenText& token) { return token.kind == AnswerKind::kText; });
  if (!delta.text.empty() || (include_logprobs_ && has_text_tokens)) {
    chunks.push_back(
        chunk(delta.index, {{"content", delta.text}}, logprobs(delta.tokens), {}, nullptr));
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
  return is_function_form_ && reason == FinishReason::kToolCalls ? "function_call"
                                                                 : finish_reason_text(reason);
}

void ChatResponse::add_malformed(const ChoiceEnd& end, JsonObject* choice) const {
  if (return_meta_info_ && !end.malformed_call.empty()) {
    choice->append("plumb", JsonObject{{"malformed_call", end.malformed_call}});
  }
}

Json ChatResponse::end(const ChoiceEnd& end) const {
  return chunk(end.index, {}, {}, finish_reason(end.reason), &end);
}

JsonObject ChatResponse::message(const std::vector<AnswerPart>& answer) const {
  const std::string text = text_of(answer);
  const std::string reasoning = text_of(answer, AnswerKind::kReasoning);
  JsonArray calls;
  for (const AnswerPart& part : answer) {
    if (part.kind != AnswerKind::kCall) {
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
    out.append("reasoning_content", reasoning);
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
        {"logprobs", logprobs(tokens[i])},
        {"finish_reason", finish_reason(ends[i].reason)},
        {"stop_reason", stop_reason(ends[i])},
    };
    add_malformed(ends[i], &choice);
    if (return_token_ids_) {
      choice.append("token_ids", token_ids_to_json(tokens[i]));
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
