// SPDX-License-Identifier: Apache-2.0
// Items of the Responses API as the messages, tools and constraint of a conversation.
#include <algorithm>
#include <map>
#include <utility>

#include "api/responses_request.h"

namespace plumb {
namespace {

constexpr const char* kToolSearch = "tool_search";

bool is_call(std::string_view type) {
  return type == "function_call" || type == "custom_tool_call" || type == "tool_search_call";
}

bool is_output(std::string_view type) {
  return type == "function_call_output" || type == "custom_tool_call_output" ||
         type == "tool_search_output";
}

std::string member_text(const Json& item, std::string_view name) {
  const Json* value = item.find(name);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

// The content of a message as the chat API has it: one text stays a text.
Json chat_content(const Json& item, std::string_view member) {
  const Json* parts = item.find(member);
  if (parts == nullptr || !parts->is_array() || parts->as_array().size() < 2) {
    return item_text(item, member);
  }
  JsonArray out;
  for (const Json& part : parts->as_array()) {
    const Json* text = part.find(item_type(part) == "refusal" ? "refusal" : "text");
    out.emplace_back(JsonObject{{"type", "text"}, {"text", text != nullptr ? *text : Json("")}});
  }
  return out;
}

// Adds items one by one to messages.
class MessageWriter {
 public:
  MessageWriter(const Unseal& unseal, JsonArray* messages)
      : unseal_(unseal), messages_(*messages) {}

  void add_text(std::string_view role, Json content) {
    if (role == "assistant") {
      JsonObject message{{"role", role}, {"content", std::move(content)}};
      open_turn(std::move(message));
      return;
    }
    is_turn_open_ = false;
    messages_.emplace_back(JsonObject{{"role", role}, {"content", std::move(content)}});
  }

  void add_reasoning(const Json& item) {
    is_turn_open_ = false;  // it belongs to what follows
    std::string text = item_text(item, "content");
    if (text.empty()) {
      const std::string sealed = member_text(item, "encrypted_content");
      text = sealed.empty() || !unseal_ ? "" : unseal_(sealed).value_or("");
    }
    reasoning_ += text.empty() ? item_text(item, "summary") : text;
  }

  void add_call(const std::string& id, const std::string& name, std::string arguments) {
    if (!is_turn_open_) {
      open_turn(JsonObject{{"role", "assistant"}, {"content", nullptr}});
    }
    JsonObject& turn = messages_.back().as_object();
    if (turn.find("tool_calls") == nullptr) {
      turn.append("tool_calls", JsonArray());
    }
    turn.find("tool_calls")
        ->as_array()
        .emplace_back(JsonObject{
            {"id", id},
            {"type", "function"},
            {"function", JsonObject{{"name", name}, {"arguments", std::move(arguments)}}}});
  }

  void add_output(const std::string& call_id, Json content) {
    is_turn_open_ = false;
    messages_.emplace_back(
        JsonObject{{"role", "tool"}, {"tool_call_id", call_id}, {"content", std::move(content)}});
  }

 private:
  void open_turn(JsonObject message) {
    if (!reasoning_.empty()) {
      message.append("reasoning_content", std::exchange(reasoning_, ""));
    }
    messages_.emplace_back(std::move(message));
    is_turn_open_ = true;
  }

  const Unseal& unseal_;
  JsonArray& messages_;
  std::string reasoning_;      // of the next turn
  bool is_turn_open_ = false;  // the last message is the assistant's and takes calls
};

// Calls that have no output yet, by the model's name, so that outputs without id find theirs.
class OpenCalls {
 public:
  void begin(const std::string& name, const std::string& id) { open_.emplace_back(name, id); }

  // The id of the call that an output answers.
  std::optional<std::string> end(const std::string& given, const std::string& name) {
    for (auto call = open_.rbegin(); call != open_.rend(); ++call) {
      if (given.empty() ? call->first == name : call->second == given) {
        const std::string id = call->second;
        open_.erase(std::next(call).base());
        return id;
      }
    }
    return given.empty() ? std::nullopt : std::optional(given);
  }

 private:
  std::vector<std::pair<std::string, std::string>> open_;
};

class ConversationBuilder {
 public:
  ConversationBuilder(const ResponsesRequest& request, const Unseal& unseal,
                      ResponsesConversation* out)
      : request_(request), out_(*out), writer_(unseal, &out->chat.messages) {}

  std::optional<ApiError> add_items(JsonArray* items, std::size_t num_inherited) {
    for (std::size_t i = 0; i < items->size(); ++i) {
      const bool is_own = i >= num_inherited;
      const std::string path = is_own && i - num_inherited < request_.input.paths.size()
                                   ? request_.input.paths[i - num_inherited]
                                   : "input";
      if (std::optional<ApiError> error = add(&(*items)[i], path, is_own)) {
        return error;
      }
    }
    return std::nullopt;
  }

  const JsonObject& reasoning_update() const { return reasoning_update_; }

  const JsonObject& format_update() const { return format_update_; }

 private:
  std::optional<ApiError> add(Json* item, const std::string& path, bool is_own) {
    const std::string_view type = item_type(*item);
    if (type == "message") {
      writer_.add_text(member_text(*item, "role"), chat_content(*item, "content"));
    } else if (type == "reasoning") {
      writer_.add_reasoning(*item);
    } else if (is_call(type)) {
      add_call(*item, type);
    } else if (is_output(type)) {
      return add_output(item, type, path);
    } else if (type == "additional_tools") {
      return add_tools(*item, path);
    } else if (type == "configuration_update" && is_own) {
      take_update(*item);
    }
    return std::nullopt;
  }

  void add_call(const Json& item, std::string_view type) {
    std::string name = type == "tool_search_call" ? std::string(kToolSearch)
                                                  : shown_tool_name(member_text(item, "name"),
                                                                    member_text(item, "namespace"));
    std::string arguments;
    if (type == "custom_tool_call") {
      arguments = to_text(JsonObject{{"input", member_text(item, "input")}});
    } else {
      const Json* given = item.find("arguments");
      arguments = given != nullptr && given->is_string()
                      ? given->as_string()
                      : to_text(given != nullptr ? *given : Json(JsonObject()));
    }
    const std::string id = member_text(item, "call_id");
    open_calls_.begin(name, id);
    writer_.add_call(id, name, std::move(arguments));
  }

  std::optional<ApiError> add_output(Json* item, std::string_view type, const std::string& path) {
    const bool is_search = type == "tool_search_output";
    const std::string name =
        is_search ? std::string(kToolSearch)
                  : shown_tool_name(member_text(*item, "name"), member_text(*item, "namespace"));
    const auto id = open_calls_.end(member_text(*item, "call_id"), name);
    if (!id.has_value()) {
      return ApiError::invalid("invalid_value", path + ".call_id",
                               "'" + path + "' has no call_id, and no call of '" +
                                   name.substr(0, 64) + "' waits for its output");
    }
    item->as_object().set("call_id", *id);
    if (!is_search) {
      writer_.add_output(*id, chat_content(*item, "output"));
      return std::nullopt;
    }
    writer_.add_output(*id, to_text(*item->find("tools")));
    return add_tools(*item, path);
  }

  std::optional<ApiError> add_tools(const Json& item, const std::string& path) {
    FieldReader fields(item.as_object(), path);
    out_.tools.read(fields, item.find("tools")->as_array(), path + ".tools", true);
    return fields.error();
  }

  void take_update(const Json& item) {
    if (const Json* reasoning = item.find("reasoning")) {
      reasoning_update_ = reasoning->as_object();
    }
    const Json* text = item.find("text");
    const Json* format = text != nullptr ? text->find("format") : nullptr;
    if (format != nullptr && format->is_object()) {
      format_update_ = format->as_object();
    }
  }

  const ResponsesRequest& request_;
  ResponsesConversation& out_;
  MessageWriter writer_;
  OpenCalls open_calls_;
  JsonObject reasoning_update_;
  JsonObject format_update_;
};

// text.format is flat where response_format of the chat API has a member json_schema.
std::variant<ConstraintSpec, ApiError> constraint_of(const JsonObject& format) {
  JsonObject nested;
  JsonObject schema;
  const Json* type = format.find("type");
  const bool is_schema = type != nullptr && *type == Json("json_schema");
  for (const JsonMember& member : format) {
    (is_schema && member.key != "type" ? schema : nested).append(member.key, member.value);
  }
  if (is_schema) {
    nested.append("json_schema", std::move(schema));
  }
  const JsonObject whole{{"response_format", std::move(nested)}};
  FieldReader fields(whole);
  ConstraintSpec spec = read_constraint(fields);
  const auto renamed = [](std::string param) {
    for (const std::string_view from : {"response_format.json_schema", "response_format"}) {
      if (param.starts_with(from)) {
        return "text.format" + param.substr(from.size());
      }
    }
    return param;
  };
  if (!fields.ok()) {
    ApiError error = *fields.error();
    for (const std::string_view from : {"response_format.json_schema", "response_format"}) {
      for (std::size_t at = error.message.find(from); at != std::string::npos;
           at = error.message.find(from)) {
        error.message.replace(at, from.size(), "text.format");
      }
    }
    error.param = renamed(std::move(error.param));
    return error;
  }
  spec.param = renamed(std::move(spec.param));
  return spec;
}

std::optional<ApiError> set_constraint(const JsonObject& format, ChatRequest* chat) {
  if (format.empty()) {
    return std::nullopt;
  }
  auto read = constraint_of(format);
  if (auto* error = std::get_if<ApiError>(&read)) {
    return std::move(*error);
  }
  auto& spec = std::get<ConstraintSpec>(read);
  ConstraintSpec& own = chat->generation.constraint;
  if (!spec.is_none() && !own.is_none()) {
    return ApiError::invalid("invalid_value", spec.param,
                             "'" + own.param + "' and '" + spec.param +
                                 "' both constrain the answer, expected at most one");
  }
  if (!spec.is_none()) {
    own = std::move(spec);
  }
  return std::nullopt;
}

// Tools that the request names, and those that items add; then the choice among them.
std::optional<ApiError> finish_tools(FieldReader& fields, const HostedRules& hosted,
                                     ResponsesConversation* out) {
  ResponsesTools& tools = out->tools;
  tools.read_choice(fields);
  tools.use().parallel = fields.boolean("parallel_tool_calls").value_or(true);
  if (fields.ok()) {
    tools.check(fields);
  }
  out->left_out_tools = tools.left_out();
  if (fields.ok() && hosted.refuses_tools && !out->left_out_tools.empty()) {
    fields.fail(
        ApiError::unsupported(fields.path("tools"), "this server runs no tools of the type '" +
                                                        out->left_out_tools.front().substr(0, 64) +
                                                        "' (--hosted-tools)"));
  }
  out->chat.tool_use = tools.use();
  return fields.error();
}

}  // namespace

std::variant<ResponsesConversation, ApiError> make_responses_conversation(
    const ResponsesRequest& request, JsonArray* items, std::size_t num_inherited,
    const HostedRules& hosted, const Unseal& unseal) {
  ResponsesConversation out;
  out.chat.generation = request.generation;
  FieldReader tool_fields(request.tool_fields);
  if (const JsonArray* tools = tool_fields.array("tools", 4096)) {
    out.tools.read(tool_fields, *tools, tool_fields.path("tools"));
  }
  if (!tool_fields.ok()) {
    return *tool_fields.error();
  }
  if (request.instructions.has_value() && !request.instructions->empty()) {
    out.chat.messages.emplace_back(
        JsonObject{{"role", "system"}, {"content", *request.instructions}});
  }
  ConversationBuilder builder(request, unseal, &out);
  if (std::optional<ApiError> error = builder.add_items(items, num_inherited)) {
    return *std::move(error);
  }
  if (std::optional<ApiError> error = finish_tools(tool_fields, hosted, &out)) {
    return *std::move(error);
  }
  const JsonObject& format =
      builder.format_update().empty() ? request.format : builder.format_update();
  if (std::optional<ApiError> error = set_constraint(format, &out.chat)) {
    return *std::move(error);
  }
  const Json* effort = builder.reasoning_update().find("effort");
  if (effort != nullptr && effort->is_string()) {
    set_reasoning_effort(effort->as_string(), &out.chat.template_kwargs);
  } else if (request.effort.has_value()) {
    set_reasoning_effort(*request.effort, &out.chat.template_kwargs);
  }
  out.chat.ignored_fields = request.ignored_fields;
  for (std::string& name : tool_fields.ignored()) {
    out.chat.ignored_fields.push_back(std::move(name));
  }
  return out;
}

std::vector<std::int64_t> order_of_leaving(const JsonArray& items) {
  constexpr std::int64_t kStays = -1;
  std::size_t last_user = items.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (item_type(items[i]) == "message" && member_text(items[i], "role") == "user") {
      last_user = i;
    }
  }
  std::vector<std::int64_t> order(items.size(), kStays);
  std::map<std::string, std::int64_t> by_call;
  std::int64_t next = 0;
  bool joins_next = false;  // a reasoning item has taken the number
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string_view type = item_type(items[i]);
    const std::string role = member_text(items[i], "role");
    const bool is_instruction = type == "additional_tools" ||
                                (type == "message" && (role == "system" || role == "developer"));
    if (i == last_user || is_instruction) {
      next += std::exchange(joins_next, false) ? 1 : 0;
      continue;
    }
    const std::string call_id = member_text(items[i], "call_id");
    const auto call = by_call.find(call_id);
    if (is_output(type) && call != by_call.end()) {
      order[i] = call->second;
      continue;
    }
    order[i] = next;
    if (is_call(type)) {
      by_call[call_id] = next;
    }
    joins_next = type == "reasoning";
    next += joins_next ? 0 : 1;
  }
  return order;
}

bool move_instructions_to_front(JsonArray* messages) {
  const auto is_instruction = [](const Json& message) {
    const std::string role = member_text(message, "role");
    return role == "system" || role == "developer";
  };
  const auto late = std::find_if_not(messages->begin(), messages->end(), is_instruction);
  const bool is_late = std::any_of(late, messages->end(), is_instruction);
  if (!is_late && std::distance(messages->begin(), late) < 2) {
    return false;
  }
  std::string text;
  JsonArray out{Json()};
  for (Json& message : *messages) {
    if (is_instruction(message)) {
      text += (text.empty() ? "" : "\n\n") + item_text(message, "content");
    } else {
      out.push_back(std::move(message));
    }
  }
  out.front() = JsonObject{{"role", "system"}, {"content", text}};
  *messages = std::move(out);
  return true;
}

}  // namespace plumb
