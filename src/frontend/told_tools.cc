// SPDX-License-Identifier: Apache-2.0
#include "frontend/told_tools.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "frontend/message_text.h"

namespace plumb {
namespace {

std::string role_of(const Json& message) {
  const Json* role = message.is_object() ? message.as_object().find("role") : nullptr;
  return role != nullptr && role->is_string() ? role->as_string() : "";
}

std::string described(const JsonArray& tools) {
  std::string text = "You may call the following tools, one JSON object a line:\n<tools>\n";
  for (const Json& tool : tools) {
    text += to_text(tool) + "\n";
  }
  return text +
         "</tools>\nTo call one, answer with its name and arguments in this form, once for each "
         "call:\n<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"PARAMETER\": VALUE}}\n"
         "</tool_call>\nThe results follow between <tool_response> and </tool_response>. Answer "
         "in words where no tool is needed.";
}

std::string called(const Json& call) {
  const Json* function = call.is_object() ? call.as_object().find("function") : nullptr;
  if (function == nullptr || !function->is_object()) {
    return "";
  }
  const Json* name = function->as_object().find("name");
  const Json* arguments = function->as_object().find("arguments");
  std::string text = "<tool_call>\n{\"name\": " + to_text(name != nullptr ? *name : Json("")) +
                     ", \"arguments\": ";
  if (arguments == nullptr || (arguments->is_string() && arguments->as_string().empty())) {
    text += "{}";
  } else {
    text += arguments->is_string() ? arguments->as_string() : to_text(*arguments);
  }
  return text + "}\n</tool_call>";
}

void add_line(std::string* text, const std::string& line) {
  *text += (text->empty() || line.empty() ? "" : "\n") + line;
}

// An assistant's calls behind its words.
void write_calls(Json* message) {
  JsonObject& members = message->as_object();
  const Json* calls = members.find("tool_calls");
  if (calls == nullptr || !calls->is_array()) {
    return;
  }
  std::string text = message_text(*message);
  for (const Json& call : calls->as_array()) {
    add_line(&text, called(call));
  }
  members.set("content", std::move(text));
  members.erase("tool_calls");
}

void add_to_system(const std::string& text, JsonArray* messages) {
  const std::string role = messages->empty() ? "" : role_of(messages->front());
  if (role != "system" && role != "developer") {
    messages->insert(messages->begin(), JsonObject{{"role", "system"}, {"content", text}});
    return;
  }
  const std::string own = message_text(messages->front());
  messages->front().as_object().set("content", own.empty() ? text : own + "\n\n" + text);
}

}  // namespace

void tell_tools_in_text(ChatInput* inputs) {
  JsonArray messages;
  bool are_results = false;  // the last message is one of results
  for (Json& message : inputs->messages) {
    if (role_of(message) == "tool") {
      const std::string result = "<tool_response>\n" + message_text(message) + "\n</tool_response>";
      if (are_results) {
        messages.back().as_object().set("content", message_text(messages.back()) + "\n" + result);
      } else {
        messages.emplace_back(JsonObject{{"role", "user"}, {"content", result}});
      }
      are_results = true;
      continue;
    }
    are_results = false;
    if (role_of(message) == "assistant") {
      write_calls(&message);
    }
    messages.push_back(std::move(message));
  }
  inputs->messages = std::move(messages);
  if (inputs->tools.is_array()) {
    add_to_system(described(inputs->tools.as_array()), &inputs->messages);
    inputs->tools = Json();
  }
}

}  // namespace plumb
