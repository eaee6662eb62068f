// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_messages.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxImages = 512;
constexpr std::int64_t kMaxOpenCalls = 512;  // each result is looked for among them

// Nine letters and digits: every template takes that, and some nothing else.
std::string call_id(std::int64_t number) {
  constexpr std::size_t kDigits = 5;
  const std::string digits = std::to_string(number);
  return "call" + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

class MessageReader {
 public:
  explicit MessageReader(FieldReader& fields) : fields_(fields) {}

  void read(const Json& item, const std::string& path, JsonArray* out) {
    if (!item.is_object()) {
      fields_.fail(ApiError::wrong_type(path, "an object"));
      return;
    }
    FieldReader message(item.as_object(), path);
    const std::optional<std::string> role =
        message.choice("role", {"system", "developer", "user", "assistant", "tool"});
    if (message.ok() && !role.has_value()) {
      message.fail(ApiError::missing(path + ".role"));
    }
    JsonObject made{{"role", role.value_or("")}};
    const std::string content = message.text("content").value_or("");
    JsonArray calls = read_calls(message);
    if (calls.empty() || !content.empty()) {
      made.append("content", content);
    }
    if (const auto thinking = message.text("thinking"); thinking && !thinking->empty()) {
      made.append("reasoning_content", *thinking);
    }
    if (!calls.empty()) {
      made.append("tool_calls", std::move(calls));
    }
    add_result_of(message, role == "tool", &made);
    check_no_images(message);
    fields_.absorb(message);
    out->emplace_back(std::move(made));
  }

 private:
  struct OpenCall {
    std::string id;
    std::string name;
  };

  JsonArray read_calls(FieldReader& message) {
    JsonArray out;
    const JsonArray* calls = message.array("tool_calls", kMaxTools);
    for (std::size_t i = 0; calls != nullptr && i < calls->size() && message.ok(); ++i) {
      const std::string path = message.path("tool_calls") + "[" + std::to_string(i) + "]";
      const Json* function = (*calls)[i].find("function");
      if (function == nullptr || !function->is_object()) {
        message.fail(ApiError::wrong_type(path, "an object with function"));
        return out;
      }
      FieldReader call((*calls)[i].as_object(), path);
      const std::string id = call.text("id").value_or("");
      call.find("type");
      FieldReader inner(function->as_object(), call.path("function"));
      inner.find("index");
      out.push_back(read_call(inner, id.empty() ? call_id(++num_calls_) : id));
      call.find("function");
      call.absorb(inner);
      message.absorb(call);
    }
    return out;
  }

  Json read_call(FieldReader& function, const std::string& id) {
    const std::optional<std::string> name = function.text("name");
    const JsonObject* arguments = function.object("arguments");
    if (function.ok() && !name.has_value()) {
      function.fail(ApiError::missing(function.path("name")));
    }
    if (function.ok() && std::ssize(open_) == kMaxOpenCalls) {
      function.fail(ApiError::invalid("invalid_value", "messages",
                                      "'messages' has more than " + std::to_string(kMaxOpenCalls) +
                                          " tool calls without a result"));
    }
    open_.push_back({id, name.value_or("")});
    return JsonObject{
        {"id", id},
        {"type", "function"},
        {"function",
         JsonObject{{"name", name.value_or("")},
                    {"arguments", to_text(arguments == nullptr ? JsonObject() : *arguments)}}}};
  }

  // Which call a result belongs to, by its id or by the name of its tool.
  void add_result_of(FieldReader& message, bool is_result, JsonObject* made) {
    const std::optional<std::string> tool_name = message.text("tool_name");
    const std::string name = tool_name ? *tool_name : message.text("name").value_or("");
    const std::string id = message.text("tool_call_id").value_or("");
    if (!is_result) {
      return;
    }
    const auto call = std::find_if(open_.begin(), open_.end(), [&](const OpenCall& open) {
      return id.empty() ? name.empty() || open.name == name : open.id == id;
    });
    if (call != open_.end()) {
      made->append("tool_call_id", call->id);
      open_.erase(call);
    } else if (!id.empty()) {
      made->append("tool_call_id", id);
    }
    if (!name.empty()) {
      made->append("name", name);
    }
  }

  FieldReader& fields_;
  std::vector<OpenCall> open_;  // calls without a result yet
  std::int64_t num_calls_ = 0;
};

Json types_of(const std::string& text) {
  if (text.find(',') == std::string::npos) {
    return text;
  }
  JsonArray types;
  for (const std::string_view type : split(text, ',')) {
    types.emplace_back(trim(type));
  }
  return types;
}

// A schema whose unions of types are written as schemas write them. Values that a schema only
// mentions stay as they are.
Json with_unions(const Json& schema) {
  if (schema.is_array()) {
    JsonArray out;
    for (const Json& item : schema.as_array()) {
      out.push_back(with_unions(item));
    }
    return out;
  }
  if (!schema.is_object()) {
    return schema;
  }
  JsonObject out;
  for (const JsonMember& member : schema.as_object()) {
    const bool is_mentioned = member.key == "enum" || member.key == "const" ||
                              member.key == "default" || member.key == "examples";
    out.append(member.key, is_mentioned ? member.value
                           : member.key == "type" && member.value.is_string()
                               ? types_of(member.value.as_string())
                               : with_unions(member.value));
  }
  return out;
}

Json normal_tool(const Json& item) {
  if (!item.is_object()) {
    return item;
  }
  JsonObject tool = item.as_object();
  if (tool.find("type") == nullptr || tool.find("type")->is_null()) {
    tool.set("type", "function");
  }
  Json* function = tool.find("function");
  const Json* parameters = function == nullptr ? nullptr : function->find("parameters");
  if (parameters != nullptr) {
    Json schema = with_unions(*parameters);
    function->as_object().set("parameters", std::move(schema));
  }
  return tool;
}

}  // namespace

void check_no_images(FieldReader& fields) {
  const JsonArray* images = fields.array("images", kMaxImages);
  if (images != nullptr && !images->empty()) {
    fields.fail(ApiError::unsupported(fields.path("images"), "this model reads text only"));
  }
}

JsonArray read_ollama_messages(FieldReader& fields, const ApiLimits& limits) {
  JsonArray out;
  const JsonArray* messages = fields.array("messages", limits.max_messages);
  MessageReader reader(fields);
  for (std::size_t i = 0; messages != nullptr && i < messages->size() && fields.ok(); ++i) {
    reader.read((*messages)[i], fields.path("messages") + "[" + std::to_string(i) + "]", &out);
  }
  return out;
}

ToolUse read_ollama_tools(FieldReader& fields) {
  JsonObject normal;
  if (const JsonArray* tools = fields.array("tools", kMaxTools)) {
    JsonArray items;
    for (const Json& tool : *tools) {
      items.push_back(normal_tool(tool));
    }
    normal.append("tools", std::move(items));
  }
  for (const char* name : {"tool_choice", "parallel_tool_calls"}) {
    if (const Json* value = fields.find(name)) {
      normal.append(name, *value);
    }
  }
  FieldReader inner(normal, "");
  ToolUse use = read_tool_use(inner);
  fields.absorb(inner);
  return use;
}

}  // namespace plumb
