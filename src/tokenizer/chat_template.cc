// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_template.h"

#include <utility>

namespace plumb {
namespace {

JsonObject without_nulls(const JsonObject& message) {
  JsonObject out;
  for (const JsonMember& member : message) {
    if (!member.value.is_null()) {
      out.append(member.key, member.value);
    }
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::create(std::string_view source,
                                                           JsonObject special_tokens) {
  PLUMB_ASSIGN(JinjaTemplate parsed, JinjaTemplate::parse(source));
  return std::unique_ptr<ChatTemplate>(
      new ChatTemplate(std::move(parsed), std::move(special_tokens)));
}

Result<RenderedChat> ChatTemplate::render(const ChatInputs& inputs) const {
  JsonObject variables = special_tokens_;
  JsonArray messages;
  for (const Json& message : inputs.messages) {
    messages.emplace_back(without_nulls(message.as_object()));
  }
  variables.set("messages", std::move(messages));
  variables.set("tools", inputs.tools);
  variables.set("documents", nullptr);
  variables.set("add_generation_prompt", inputs.add_generation_prompt);
  for (const JsonMember& member : inputs.template_kwargs) {
    variables.set(member.key, member.value);
  }
  RenderOptions options;
  for (const JsonMember& member : special_tokens_) {
    options.trusted_variables.push_back(member.key);
  }
  options.trusted_roles = {"system", "user", "assistant", "tool", "developer"};
  PLUMB_ASSIGN(Rendering rendering, template_.render(variables, options));
  RenderedChat chat;
  for (const TextSegment& segment : rendering.segments) {
    chat.segments.push_back(
        {rendering.text.substr(static_cast<std::size_t>(segment.begin),
                               static_cast<std::size_t>(segment.end - segment.begin)),
         !segment.is_data});
  }
  chat.text = std::move(rendering.text);
  return chat;
}

}  // namespace plumb
