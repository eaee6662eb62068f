// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_template.h"

#include <algorithm>

#include "base/text.h"
#include "tokenizer/jinja_ast.h"
#include "tokenizer/jinja_text.h"

namespace plumb {

namespace {

// Put behind the final message to find where it ends; the blank shows whether the template trims.
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";

constexpr std::string_view kKnownRoles[] = {"system",    "user",     "assistant", "tool",
                                            "developer", "function", "ipython",   "model"};

Status bad_message(std::string what) {
  return {Code::kInvalidArgument, std::move(what)};
}

bool is_role(const Json& message, std::string_view role) {
  const Json* found = message.find("role");
  return found != nullptr && found->is_string() && found->as_string() == role;
}

void drop_null_members(JsonObject* message) {
  JsonObject kept;
  for (const JsonMember& member : *message) {
    if (!member.value.is_null()) {
      kept.append(member.key, member.value);
    }
  }
  *message = std::move(kept);
}

void share_reasoning(JsonObject* message) {
  for (const std::string_view key : {"reasoning_content", "thinking", "reasoning"}) {
    const Json* found = message->find(key);
    if (found == nullptr) {
      continue;
    }
    const Json reasoning = *found;
    message->set("reasoning_content", reasoning);
    if (message->find("thinking") == nullptr) {
      message->set("thinking", reasoning);
    }
    return;
  }
}

Result<std::string> join_parts(const JsonArray& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Json* type = parts[i].find("type");
    const Json* text = parts[i].find("text");
    if (parts[i].is_string()) {
      text = &parts[i];
    } else if (text == nullptr || !text->is_string()) {
      const bool named = type != nullptr && type->is_string();
      return bad_message("content part " + std::to_string(i) + " of type '" +
                         (named ? to_valid_utf8(type->as_string().substr(0, 40)) : "?") +
                         "' is not supported by this model's chat template: send text");
    }
    out += text->as_string();
  }
  return out;
}

// Marks the end of the last text of the final message.
Status mark_end(JsonArray* messages) {
  Json* content = messages->empty() ? nullptr : messages->back().as_object().find("content");
  if (content != nullptr && content->is_string()) {
    content->as_string() += kContinueTag;
    return {};
  }
  if (content != nullptr && content->is_array()) {
    JsonArray& parts = content->as_array();
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      Json* text = part->is_object() ? part->as_object().find("text") : nullptr;
      if (text != nullptr && text->is_string()) {
        text->as_string() += kContinueTag;
        return {};
      }
    }
  }
  return bad_message("continue_final_message: the final message has no text to continue");
}

void cut_text(std::int64_t end, Rendering* rendering) {
  rendering->text.resize(static_cast<std::size_t>(end));
  const auto cut = [end](auto* ranges) {
    while (!ranges->empty() && ranges->back().begin >= end) {
      ranges->pop_back();
    }
    if (!ranges->empty()) {
      ranges->back().end = std::min(ranges->back().end, end);
    }
  };
  cut(&rendering->segments);
  cut(&rendering->generations);
}

Status cut_at_mark(Rendering* rendering) {
  const std::string_view tag = kContinueTag.substr(0, kContinueTag.size() - 1);
  const std::size_t at = rendering->text.rfind(tag);
  if (at == std::string::npos) {
    return bad_message(
        "continue_final_message: the chat template does not print the final message");
  }
  const bool keeps_blanks = rendering->text.compare(at, kContinueTag.size(), kContinueTag) == 0;
  std::size_t end = at;
  if (!keeps_blanks) {
    end = jinja::strip_space(std::string_view(rendering->text).substr(0, at), jinja::Side::kRight)
              .end;
  }
  cut_text(static_cast<std::int64_t>(end), rendering);
  return {};
}

bool may_merge(const Json& first, const Json& second) {
  const auto plain = [](const Json& message) {
    return message.find("content") != nullptr && message.find("tool_calls") == nullptr &&
           message.find("tool_call_id") == nullptr && !is_role(message, "tool");
  };
  const Json* role = first.find("role");
  const Json* other = second.find("role");
  return role != nullptr && other != nullptr && *role == *other && plain(first) && plain(second) &&
         first.find("content")->kind() == second.find("content")->kind();
}

JsonArray merge_neighbours(const JsonArray& messages) {
  JsonArray out;
  for (const Json& message : messages) {
    if (out.empty() || !may_merge(out.back(), message)) {
      out.push_back(message);
      continue;
    }
    Json* content = out.back().as_object().find("content");
    const Json& more = *message.find("content");
    if (content->is_string()) {
      content->as_string() += "\n\n" + more.as_string();
    } else if (content->is_array()) {
      const JsonArray& parts = more.as_array();
      content->as_array().insert(content->as_array().end(), parts.begin(), parts.end());
    }
  }
  return out;
}

// For templates that print the content of every message: an answer may have tool calls instead.
// False if no message lacked its content.
bool fill_absent_contents(JsonArray* messages) {
  bool has_changed = false;
  for (Json& message : *messages) {
    if (message.find("content") == nullptr) {
      message.as_object().set("content", "");
      has_changed = true;
    }
  }
  return has_changed;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, SpecialTokens special_tokens) {
  PLUMB_ASSIGN(JinjaTemplate jinja, JinjaTemplate::parse(source));
  ChatTemplate out(std::move(jinja), std::move(special_tokens));
  out.use_ = find_use(out.jinja_.program());
  return out;
}

bool ChatTemplate::uses_variable(std::string_view name) const {
  return jinja_.program().name_ids.count(std::string(name)) > 0;
}

Status ChatTemplate::normalize_content(JsonObject* message) const {
  Json* content = message->find("content");
  if (content == nullptr || !content->is_array() || use_.iterates_content) {
    return {};
  }
  PLUMB_ASSIGN(std::string text, join_parts(content->as_array()));
  *content = Json(std::move(text));
  return {};
}

void ChatTemplate::normalize_tool_calls(JsonObject* message) const {
  Json* calls = message->find("tool_calls");
  if (calls == nullptr || !calls->is_array() || !use_.arguments_are_object) {
    return;
  }
  for (Json& call : calls->as_array()) {
    if (!call.is_object()) {
      continue;
    }
    Json* function = call.as_object().find("function");
    JsonObject& owner =
        function != nullptr && function->is_object() ? function->as_object() : call.as_object();
    Json* arguments = owner.find("arguments");
    if (arguments == nullptr || !arguments->is_string()) {
      continue;
    }
    Result<Json> parsed = parse_json(arguments->as_string());
    if (parsed.ok() && parsed.value().is_object()) {
      *arguments = std::move(parsed).value();
    }
  }
}

Status ChatTemplate::normalize_message(JsonObject* message) const {
  drop_null_members(message);
  share_reasoning(message);
  Json* role = message->find("role");
  if (role != nullptr && role->is_string() && role->as_string() == "developer" &&
      !use_.knows_developer_role) {
    *role = Json("system");
  }
  normalize_tool_calls(message);
  return normalize_content(message);
}

Result<JsonArray> ChatTemplate::normalize(const ChatInput& input) const {
  JsonArray messages = input.messages;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string where = "messages[" + std::to_string(i) + "]";
    if (!messages[i].is_object()) {
      return bad_message(where + " is not an object");
    }
    Status status = normalize_message(&messages[i].as_object());
    if (!status.ok()) {
      return std::move(status).with(where);
    }
  }
  return messages;
}

Result<Rendering> ChatTemplate::render_messages(const JsonArray& messages, const ChatInput& input,
                                                const RenderOptions& options) const {
  JsonObject variables;
  RenderOptions with_trust = options;
  for (const auto& [name, text] : special_tokens_) {
    variables.set(name, text);
    if (input.template_kwargs.find(name) == nullptr) {
      with_trust.trusted_variables.push_back(name);
    }
  }
  with_trust.trusted_roles.insert(with_trust.trusted_roles.end(), std::begin(kKnownRoles),
                                  std::end(kKnownRoles));
  variables.set("messages", messages);
  variables.set("tools", input.tools);
  variables.set("documents", input.documents);
  variables.set("add_generation_prompt",
                input.add_generation_prompt && !input.continue_final_message);
  for (const JsonMember& member : input.template_kwargs) {
    variables.set(member.key, member.value);
  }
  return jinja_.render(variables, with_trust);
}

Result<Rendering> ChatTemplate::render(const ChatInput& input, const RenderOptions& options) const {
  PLUMB_ASSIGN(JsonArray messages, normalize(input));
  if (input.continue_final_message) {
    PLUMB_RETURN_IF_ERROR(mark_end(&messages));
  }
  Result<Rendering> rendered = render_messages(messages, input, options);
  const auto try_again = [&](const JsonArray& changed) {
    if (!rendered.ok() && rendered.status().code() == Code::kInvalidArgument) {
      Result<Rendering> again = render_messages(changed, input, options);
      if (again.ok()) {
        rendered = std::move(again);
      }
    }
  };
  if (!rendered.ok() && fill_absent_contents(&messages)) {
    try_again(messages);
  }
  if (!rendered.ok()) {
    if (const JsonArray merged = merge_neighbours(messages); merged.size() < messages.size()) {
      try_again(merged);
    }
  }
  if (!rendered.ok()) {
    return rendered;
  }
  if (input.continue_final_message) {
    PLUMB_RETURN_IF_ERROR(cut_at_mark(&rendered.value()));
  }
  return rendered;
}

}  // namespace plumb
