// SPDX-License-Identifier: Apache-2.0
#include "api/messages_response.h"

#include <utility>

#include "base/digest.h"
#include "base/text.h"

namespace plumb {
namespace {

// Tokens found in the cache are told beside the others, not among them.
JsonObject input_usage(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"cache_creation_input_tokens", 0}};
}

JsonObject whole_usage(const Usage& usage) {
  JsonObject out = input_usage(usage);
  out.append("output_tokens", usage.completion_tokens);
  out.append("output_tokens_details", JsonObject{{"thinking_tokens", usage.reasoning_tokens}});
  return out;
}

// What is no object, because the answer was cut there, must not look like other arguments.
Json input_of(const std::string& arguments) {
  Result<Json> parsed = parse_json(arguments);
  if (parsed.ok() && parsed.value().is_object()) {
    return std::move(parsed).value();
  }
  return JsonObject{{"_raw", arguments}};
}

Json stop_sequence(const ChoiceEnd& end) {
  return end.reason == FinishReason::kStop && !end.matched_stop.empty() ? Json(end.matched_stop)
                                                                        : Json();
}

}  // namespace

JsonObject MessagesResponse::message(JsonArray content, Json reason, Json sequence,
                                     Json usage) const {
  return {{"id", envelope_.id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", envelope_.model},
          {"content", std::move(content)},
          {"stop_reason", std::move(reason)},
          {"stop_sequence", std::move(sequence)},
          {"usage", std::move(usage)}};
}

std::string MessagesResponse::signature(const std::string& thinking) const {
  return to_base64(hmac_sha256(options_.signature_key, thinking));
}

const char* MessagesResponse::stop_reason(const ChoiceEnd& end) const {
  switch (end.reason) {
    case FinishReason::kToolCalls:
      return "tool_use";
    case FinishReason::kLength:
      return options_.is_clamped ? "model_context_window_exceeded" : "max_tokens";
    default:
      return stop_sequence(end).is_null() ? "end_turn" : "stop_sequence";
  }
}

void MessagesResponse::start(std::vector<Json>* events) {
  if (std::exchange(has_started_, true)) {
    return;
  }
  JsonObject usage = input_usage(options_.prompt);
  usage.append("output_tokens", 1);
  events->emplace_back(JsonObject{{"type", "message_start"},
                                  {"message", message({}, nullptr, nullptr, std::move(usage))}});
}

void MessagesResponse::open(Block kind, JsonObject block, std::vector<Json>* events) {
  close(events);
  block_ = kind;
  events->emplace_back(JsonObject{
      {"type", "content_block_start"}, {"index", index_}, {"content_block", std::move(block)}});
}

void MessagesResponse::add(JsonObject delta, std::vector<Json>* events) const {
  events->emplace_back(
      JsonObject{{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(delta)}});
}

void MessagesResponse::close(std::vector<Json>* events) {
  if (block_ == Block::kNone) {
    return;
  }
  if (block_ == Block::kThinking) {
    add({{"type", "signature_delta"}, {"signature", signature(thinking_)}}, events);
    thinking_.clear();
  }
  events->emplace_back(JsonObject{{"type", "content_block_stop"}, {"index", index_}});
  block_ = Block::kNone;
  ++index_;
}

// Clients parse what they have of the arguments at every delta, so that an object without members
// comes in one.
void MessagesResponse::add_call(const ToolCallDelta& call, std::vector<Json>* events) {
  if (call.is_first()) {
    open(Block::kToolUse,
         {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", JsonObject()}},
         events);
    held_input_.clear();
    has_input_ = false;
  }
  held_input_ += call.arguments;
  const bool is_only_opened = trim(held_input_) == "{" && !call.has_ended;
  if (!held_input_.empty() && !is_only_opened) {
    add({{"type", "input_json_delta"}, {"partial_json", std::exchange(held_input_, "")}}, events);
    has_input_ = true;
  }
  if (call.has_ended && !has_input_) {
    add({{"type", "input_json_delta"}, {"partial_json", "{}"}}, events);
  }
}

std::vector<Json> MessagesResponse::delta(const ChoiceDelta& delta) {
  std::vector<Json> events;
  start(&events);
  if (!delta.reasoning.empty()) {
    if (block_ != Block::kThinking) {
      open(Block::kThinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}, &events);
    }
    thinking_ += delta.reasoning;
    if (!options_.omits_thinking) {
      add({{"type", "thinking_delta"}, {"thinking", delta.reasoning}}, &events);
    }
  }
  if (!delta.text.empty()) {
    if (block_ != Block::kText) {
      open(Block::kText, {{"type", "text"}, {"text", ""}}, &events);
    }
    add({{"type", "text_delta"}, {"text", delta.text}}, &events);
  }
  for (const ToolCallDelta& call : delta.calls) {
    add_call(call, &events);
  }
  return events;
}

std::vector<Json> MessagesResponse::end(const ChoiceEnd& end) {
  std::vector<Json> events;
  start(&events);
  close(&events);
  events.emplace_back(JsonObject{{"type", "message_delta"},
                                 {"delta", JsonObject{{"stop_reason", stop_reason(end)},
                                                      {"stop_sequence", stop_sequence(end)}}},
                                 {"usage", whole_usage(end.usage)}});
  return events;
}

Json MessagesResponse::stop() const {
  return JsonObject{{"type", "message_stop"}};
}

Json MessagesResponse::complete(const std::vector<AnswerPart>& answer, const ChoiceEnd& end) const {
  JsonArray content;
  for (const AnswerPart& part : answer) {
    switch (part.kind) {
      case AnswerKind::kReasoning:
        content.emplace_back(JsonObject{{"type", "thinking"},
                                        {"thinking", options_.omits_thinking ? "" : part.text},
                                        {"signature", signature(part.text)}});
        break;
      case AnswerKind::kText:
        content.emplace_back(JsonObject{{"type", "text"}, {"text", part.text}});
        break;
      case AnswerKind::kCall:
        content.emplace_back(JsonObject{{"type", "tool_use"},
                                        {"id", part.id},
                                        {"name", part.name},
                                        {"input", input_of(part.text)}});
        break;
    }
  }
  return message(std::move(content), stop_reason(end), stop_sequence(end), whole_usage(end.usage));
}

}  // namespace plumb
