// SPDX-License-Identifier: Apache-2.0
#include "api/responses_assembler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/custom_tool.h"
#include "api/ids.h"

namespace plumb {
namespace {

constexpr const char* kContentIndex = "content_index";
constexpr const char* kSummaryIndex = "summary_index";

bool is_blank_text(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

Json output_text_part(const std::string& text, JsonArray logprobs) {
  return JsonObject{{"type", "output_text"},
                    {"text", text},
                    {"annotations", JsonArray()},
                    {"logprobs", std::move(logprobs)}};
}

Json text_part(const char* type, const std::string& text) {
  return JsonObject{{"type", type}, {"text", text}};
}

// The list of codes is closed but for that of an input which is not what its tool asks for.
std::string_view failure_code(const ApiError& error) {
  if (error.code == kInvalidInputCode) {
    return kInvalidInputCode;
  }
  if (error.http_status == 429 || error.code == "engine_overloaded") {
    return "rate_limit_exceeded";
  }
  return error.http_status < 500 ? "invalid_prompt" : "server_error";
}

}  // namespace

Json responses_usage(const Usage& usage) {
  return JsonObject{
      {"input_tokens", usage.prompt_tokens},
      {"input_tokens_details",
       JsonObject{{"cached_tokens", usage.cached_tokens}, {"cache_write_tokens", 0}}},
      {"output_tokens", usage.completion_tokens},
      {"output_tokens_details", JsonObject{{"reasoning_tokens", usage.reasoning_tokens}}},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
  };
}

ResponsesAssembler::ResponsesAssembler(ResponseEnvelope envelope, JsonObject echo,
                                       ResponsesTools tools, ResponsesStyle style)
    : envelope_(std::move(envelope)),
      echo_(std::move(echo)),
      tools_(std::move(tools)),
      style_(std::move(style)) {
  const Json* background = echo_.find("background");
  if (background != nullptr && *background == Json(true)) {
    status_ = "queued";
  }
}

Json ResponsesAssembler::response() const {
  const auto told = [this](const char* name) {
    const Json* value = echo_.find(name);
    return value != nullptr ? *value : Json();
  };
  JsonObject out{
      {"id", envelope_.id},
      {"object", "response"},
      {"created_at", envelope_.created},
      {"completed_at", completed_at_.has_value() ? Json(*completed_at_) : Json()},
      {"status", status_},
      {"background", told("background")},
      {"error", error_},
      {"incomplete_details", incomplete_details_},
  };
  for (const char* name : {"instructions", "max_output_tokens", "max_tool_calls"}) {
    out.append(name, told(name));
  }
  out.append("model", envelope_.model);
  out.append("output", output_);
  for (const char* name : {"parallel_tool_calls", "previous_response_id", "prompt_cache_key",
                           "reasoning", "safety_identifier", "service_tier", "store", "temperature",
                           "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation"}) {
    out.append(name, told(name));
  }
  out.append("usage", usage_);
  out.append("user", told("user"));
  out.append("metadata", told("metadata"));
  return out;
}

Json ResponsesAssembler::event(const char* type, JsonObject members) {
  JsonObject out{{"type", type}, {"sequence_number", next_event_++}};
  for (JsonMember& member : members) {
    out.append(std::move(member.key), std::move(member.value));
  }
  return out;
}

void ResponsesAssembler::tell_response(const char* type) {
  events_.push_back(event(type, {{"response", response()}}));
}

std::vector<Json> ResponsesAssembler::begin() {
  tell_response("response.created");
  if (status_ == "queued") {
    tell_response("response.queued");
    status_ = "in_progress";
  }
  tell_response("response.in_progress");
  return std::exchange(events_, {});
}

// {item_id, output_index} and the index in the item, if the event has one.
JsonObject ResponsesAssembler::place(const char* index_name) const {
  JsonObject out{{"item_id", *item_.find("id")}, {"output_index", std::ssize(output_)}};
  if (index_name != nullptr) {
    out.append(index_name, 0);
  }
  return out;
}

void ResponsesAssembler::open_item(Open kind, JsonObject item) {
  close_item("completed");
  open_ = kind;
  item_ = std::move(item);
  text_.clear();
  tokens_.clear();
  events_.push_back(event("response.output_item.added",
                          {{"output_index", std::ssize(output_)}, {"item", item_}}));
}

void ResponsesAssembler::open_message() {
  open_item(Open::kMessage, {{"id", new_item_id("msg")},
                             {"type", "message"},
                             {"role", "assistant"},
                             {"status", "in_progress"},
                             {"content", JsonArray()}});
  JsonObject members = place(kContentIndex);
  members.append("part", output_text_part("", {}));
  events_.push_back(event("response.content_part.added", std::move(members)));
}

void ResponsesAssembler::open_reasoning() {
  open_item(Open::kReasoning, {{"id", new_item_id("rs")},
                               {"type", "reasoning"},
                               {"summary", JsonArray()},
                               {"content", JsonArray()},
                               {"status", "in_progress"}});
  JsonObject members = place(kContentIndex);
  members.append("part", text_part("reasoning_text", ""));
  events_.push_back(event("response.content_part.added", std::move(members)));
}

void ResponsesAssembler::open_call(const ToolCallDelta& call) {
  const ToolIdentity identity = tools_.identity_of(call.name);
  JsonObject item{{"id", new_item_id(identity.is_custom ? "ctc" : "fc")},
                  {"type", identity.is_custom ? "custom_tool_call" : "function_call"},
                  {"call_id", call.id},
                  {"name", identity.name},
                  {identity.is_custom ? "input" : "arguments", ""},
                  {"status", "in_progress"}};
  if (!identity.name_space.empty()) {
    item.append("namespace", identity.name_space);
  }
  custom_input_ = {};
  is_call_whole_ = false;
  open_item(identity.is_custom ? Open::kCustom : Open::kFunction, std::move(item));
}

void ResponsesAssembler::tell_text_delta(const char* type, const char* index_name,
                                         const std::string& delta) {
  if (delta.empty()) {
    return;
  }
  text_ += delta;
  JsonObject members = place(index_name);
  members.append("delta", delta);
  events_.push_back(event(type, std::move(members)));
}

JsonArray ResponsesAssembler::logprobs(const std::vector<TokenText>& tokens,
                                       bool with_bytes) const {
  return style_.shows_logprobs ? logprobs_to_json(tokens, {.with_bytes = with_bytes}) : JsonArray();
}

// Blanks wait until text follows: before a call they are nothing.
void ResponsesAssembler::add_text(const std::string& text, const std::vector<TokenText>& tokens) {
  const bool is_held = open_ != Open::kMessage && is_blank_text(text);
  if (is_held) {
    held_ += text;
    held_tokens_.insert(held_tokens_.end(), tokens.begin(), tokens.end());
    return;
  }
  if (open_ != Open::kMessage) {
    open_message();
  }
  std::vector<TokenText> told = std::exchange(held_tokens_, {});
  told.insert(told.end(), tokens.begin(), tokens.end());
  const std::string delta = std::exchange(held_, "") + text;
  text_ += delta;
  JsonObject members = place(kContentIndex);
  members.append("delta", delta);
  members.append("logprobs", logprobs(told, false));
  events_.push_back(event("response.output_text.delta", std::move(members)));
  std::move(told.begin(), told.end(), std::back_inserter(tokens_));
}

void ResponsesAssembler::add_reasoning(const std::string& text) {
  if (open_ != Open::kReasoning) {
    held_.clear();
    held_tokens_.clear();
    open_reasoning();
  }
  tell_text_delta("response.reasoning_text.delta", kContentIndex, text);
}

void ResponsesAssembler::add_arguments(const std::string& arguments) {
  if (open_ == Open::kCustom) {
    tell_text_delta("response.custom_tool_call_input.delta", nullptr,
                    custom_input_.push(arguments));
  } else {
    tell_text_delta("response.function_call_arguments.delta", nullptr, arguments);
  }
}

std::vector<Json> ResponsesAssembler::delta(const ChoiceDelta& delta) {
  if (!delta.reasoning.empty()) {
    add_reasoning(delta.reasoning);
  }
  const bool has_text_tokens =
      style_.shows_logprobs &&
      std::any_of(delta.tokens.begin(), delta.tokens.end(),
                  [](const TokenText& token) { return token.kind == AnswerKind::kText; });
  if (!delta.text.empty() || (has_text_tokens && open_ == Open::kMessage)) {
    add_text(delta.text, style_.shows_logprobs ? delta.tokens : std::vector<TokenText>());
  }
  for (const ToolCallDelta& call : delta.calls) {
    if (call.is_first()) {
      held_.clear();
      held_tokens_.clear();
      open_call(call);
    }
    add_arguments(call.arguments);
    is_call_whole_ = is_call_whole_ || (call.has_ended && !call.is_cut);
  }
  return std::exchange(events_, {});
}

void ResponsesAssembler::close_message() {
  JsonArray entries = logprobs(tokens_, false);
  JsonObject members = place(kContentIndex);
  members.append("text", text_);
  members.append("logprobs", std::move(entries));
  events_.push_back(event("response.output_text.done", std::move(members)));
  const Json part = output_text_part(text_, logprobs(tokens_, true));
  members = place(kContentIndex);
  members.append("part", part);
  events_.push_back(event("response.content_part.done", std::move(members)));
  item_.set("content", JsonArray{part});
}

void ResponsesAssembler::close_reasoning() {
  JsonObject members = place(kContentIndex);
  members.append("text", text_);
  events_.push_back(event("response.reasoning_text.done", std::move(members)));
  const Json part = text_part("reasoning_text", text_);
  members = place(kContentIndex);
  members.append("part", part);
  events_.push_back(event("response.content_part.done", std::move(members)));
  item_.set("content", JsonArray{part});
  if (style_.shows_summary) {
    const Json summary = text_part("summary_text", text_);
    const auto tell = [&](const char* type, const char* name, Json value) {
      JsonObject of_summary = place(kSummaryIndex);
      of_summary.append(name, std::move(value));
      events_.push_back(event(type, std::move(of_summary)));
    };
    tell("response.reasoning_summary_part.added", "part", text_part("summary_text", ""));
    tell("response.reasoning_summary_text.delta", "delta", text_);
    tell("response.reasoning_summary_text.done", "text", text_);
    tell("response.reasoning_summary_part.done", "part", summary);
    item_.set("summary", JsonArray{summary});
  }
  if (style_.seal) {
    const Json status = *item_.find("status");
    item_.erase("status");
    item_.append("encrypted_content", style_.seal(text_));
    item_.append("status", status);
  }
}

void ResponsesAssembler::close_call() {
  const bool is_custom = open_ == Open::kCustom;
  if (is_custom) {
    tell_text_delta("response.custom_tool_call_input.delta", nullptr, custom_input_.finish());
  }
  const char* name = is_custom ? "input" : "arguments";
  JsonObject members = place(nullptr);
  members.append(name, text_);
  if (!is_custom) {
    members.append("name", *item_.find("name"));
  }
  events_.push_back(event(
      is_custom ? "response.custom_tool_call_input.done" : "response.function_call_arguments.done",
      std::move(members)));
  item_.set(name, text_);
}

void ResponsesAssembler::close_item(const char* status) {
  if (open_ == Open::kNothing) {
    return;
  }
  item_.set("status", status);
  if (open_ == Open::kMessage) {
    close_message();
  } else if (open_ == Open::kReasoning) {
    close_reasoning();
  } else {
    close_call();
  }
  open_ = Open::kNothing;
  const std::int64_t index = std::ssize(output_);
  output_.emplace_back(std::exchange(item_, {}));
  events_.push_back(
      event("response.output_item.done", {{"output_index", index}, {"item", output_.back()}}));
}

std::vector<Json> ResponsesAssembler::end(const ChoiceEnd& end) {
  const bool is_cut = end.reason == FinishReason::kLength;
  // Blanks are an answer where nothing else is.
  const bool has_answer = std::any_of(output_.begin(), output_.end(), [](const Json& item) {
    return item_type(item) != "reasoning";
  });
  if (!held_.empty() && !has_answer && (open_ == Open::kNothing || open_ == Open::kReasoning)) {
    const std::string blanks = std::exchange(held_, "");
    const std::vector<TokenText> tokens = std::exchange(held_tokens_, {});
    open_message();
    text_ = blanks;
    tokens_ = tokens;
    JsonObject members = place(kContentIndex);
    members.append("delta", blanks);
    members.append("logprobs", logprobs(tokens, false));
    events_.push_back(event("response.output_text.delta", std::move(members)));
  }
  const bool is_whole_call = (open_ == Open::kFunction || open_ == Open::kCustom) && is_call_whole_;
  close_item(is_cut && !is_whole_call ? "incomplete" : "completed");
  status_ = is_cut ? "incomplete" : "completed";
  if (is_cut) {
    incomplete_details_ = JsonObject{{"reason", "max_output_tokens"}};
  }
  usage_ = responses_usage(end.usage);
  return std::exchange(events_, {});
}

std::vector<Json> ResponsesAssembler::finish(std::int64_t now) {
  if (status_ == "completed") {
    completed_at_ = now;
  }
  is_finished_ = true;
  tell_response(status_ == "completed" ? "response.completed" : "response.incomplete");
  return std::exchange(events_, {});
}

std::vector<Json> ResponsesAssembler::fail(const ApiError& error) {
  close_item("incomplete");
  next_event_ -= std::exchange(is_finished_, false) ? 1 : 0;
  completed_at_.reset();
  incomplete_details_ = {};
  status_ = "failed";
  error_ = JsonObject{{"code", failure_code(error)}, {"message", error.message}};
  tell_response("response.failed");
  is_finished_ = true;
  return std::exchange(events_, {});
}

std::vector<Json> ResponsesAssembler::cancel() {
  close_item("incomplete");
  status_ = "cancelled";
  tell_response("response.failed");
  is_finished_ = true;
  return std::exchange(events_, {});
}

}  // namespace plumb
