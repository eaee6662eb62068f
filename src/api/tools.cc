// SPDX-License-Identifier: Apache-2.0
#include "api/tools.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/custom_tool.h"

namespace plumb {
namespace {

using Mode = ToolChoice::Mode;

constexpr std::size_t kMaxToolNameBytes = 128;

void fail_at(FieldReader& fields, const std::string& path, const std::string& what) {
  fields.fail(ApiError::invalid("invalid_value", path, "'" + path + "' " + what));
}

// Name and description.
Tool read_tool_head(FieldReader& fields) {
  Tool tool;
  const std::optional<std::string> name = fields.text("name");
  if (fields.ok() && !name.has_value()) {
    fields.fail(ApiError::missing(fields.path("name")));
  }
  tool.name = name.value_or("");
  tool.description = fields.text("description").value_or("");
  if (fields.ok() && !is_tool_name(tool.name)) {
    fail_at(
        fields, fields.path("name"),
        "is '" + tool.name.substr(0, 64) + "', expected 1 to 128 letters, digits, _, -, . or :");
  }
  return tool;
}

// {name, description?, parameters?, strict?}
Tool read_function(FieldReader& function) {
  Tool tool = read_tool_head(function);
  const JsonObject* parameters = function.object("parameters");
  tool.param = function.path("parameters");
  tool.parameters = parameters != nullptr ? Json(*parameters) : no_parameters();
  tool.strict = function.boolean("strict").value_or(false);
  return tool;
}

// {name, description?, format?}
Tool read_custom(FieldReader& custom) {
  Tool tool = read_tool_head(custom);
  read_custom_format(custom, GrammarForm::kNested, &tool);
  return tool;
}

// {"type":"function","function":{…}} or {"type":"custom","custom":{…}}
void read_tool(FieldReader& fields, const Json& item, const std::string& path, ToolUse* use) {
  if (!item.is_object()) {
    fields.fail(ApiError::wrong_type(path, "an object"));
    return;
  }
  FieldReader tool(item.as_object(), path);
  const std::string type = tool.text("type").value_or("");
  if (tool.ok() && type != "function" && type != "custom") {
    tool.fail(ApiError::unsupported(
        tool.path("type"),
        "'" + type.substr(0, 64) + "' is not offered, expected 'function' or 'custom'"));
    fields.absorb(tool);
    return;
  }
  const JsonObject* told = tool.ok() ? tool.object(type) : nullptr;
  if (tool.ok() && told == nullptr) {
    tool.fail(ApiError::missing(tool.path(type)));
  } else if (tool.ok()) {
    FieldReader inner(*told, tool.path(type));
    use->tools.push_back(type == "custom" ? read_custom(inner) : read_function(inner));
    tool.absorb(inner);
  }
  fields.absorb(tool);
}

void read_tools(FieldReader& fields, ToolUse* use) {
  const JsonArray* tools = fields.array("tools", kMaxTools);
  for (std::size_t i = 0; tools != nullptr && i < tools->size() && fields.ok(); ++i) {
    read_tool(fields, (*tools)[i], fields.path("tools") + "[" + std::to_string(i) + "]", use);
  }
  const JsonArray* functions = fields.array("functions", kMaxTools);
  if (functions == nullptr) {
    return;
  }
  if (tools != nullptr) {
    fail_at(fields, fields.path("functions"), "and 'tools' exclude each other; send 'tools'");
    return;
  }
  use->is_function_form = true;
  for (std::size_t i = 0; i < functions->size() && fields.ok(); ++i) {
    const std::string path = fields.path("functions") + "[" + std::to_string(i) + "]";
    if (!(*functions)[i].is_object()) {
      fields.fail(ApiError::wrong_type(path, "an object"));
      return;
    }
    FieldReader function((*functions)[i].as_object(), path);
    use->tools.push_back(read_function(function));
    fields.absorb(function);
  }
}

bool read_mode(std::string_view word, bool with_none, ToolChoice* choice) {
  if (word == "auto") {
    choice->mode = Mode::kAuto;
  } else if (word == "required") {
    choice->mode = Mode::kRequired;
  } else if (word == "none" && with_none) {
    choice->mode = Mode::kNone;
  } else {
    return false;
  }
  return true;
}

// The name in {"type":"function","function":{"name"}} or {"type":"custom","custom":{"name"}}.
void read_choice_name(FieldReader& item, const char* type, ToolChoice* choice) {
  const JsonObject* told = item.object(type);
  if (told == nullptr) {
    item.fail(ApiError::missing(item.path(type)));
    return;
  }
  FieldReader inner(*told, item.path(type));
  const std::optional<std::string> name = inner.text("name");
  if (inner.ok() && !name.has_value()) {
    inner.fail(ApiError::missing(inner.path("name")));
  }
  item.absorb(inner);
  choice->names.push_back(name.value_or(""));
}

// {"mode","tools":[…]}
void read_allowed_tools(FieldReader& fields, ToolChoice* choice) {
  const JsonObject* allowed = fields.object("allowed_tools");
  if (allowed == nullptr) {
    fields.fail(ApiError::missing(fields.path("allowed_tools")));
    return;
  }
  FieldReader inner(*allowed, fields.path("allowed_tools"));
  const std::optional<std::string> mode = inner.choice("mode", {"auto", "required"});
  const JsonArray* tools = inner.array("tools", kMaxTools);
  if (inner.ok() && (!mode.has_value() || tools == nullptr || tools->empty())) {
    inner.fail(ApiError::missing(inner.path(!mode.has_value() ? "mode" : "tools")));
  }
  for (std::size_t i = 0; inner.ok() && i < tools->size(); ++i) {
    const std::string path = inner.path("tools") + "[" + std::to_string(i) + "]";
    if (!(*tools)[i].is_object()) {
      inner.fail(ApiError::wrong_type(path, "an object"));
      break;
    }
    FieldReader item((*tools)[i].as_object(), path);
    const bool is_custom = item.choice("type", {"function", "custom"}) == "custom";
    read_choice_name(item, is_custom ? "custom" : "function", choice);
    inner.absorb(item);
  }
  read_mode(mode.value_or(""), false, choice);
  fields.absorb(inner);
}

void read_choice_object(FieldReader& choice, ToolChoice* out) {
  const std::string type = choice.text("type").value_or("");
  if (type == "allowed_tools") {
    read_allowed_tools(choice, out);
  } else if (type == "function" || type == "custom") {
    out->mode = Mode::kRequired;
    out->is_named = true;
    read_choice_name(choice, type.c_str(), out);
  } else if (choice.ok()) {
    choice.fail(ApiError::unsupported(choice.path("type"),
                                      "'" + type.substr(0, 64) +
                                          "' is not offered, expected 'function', 'custom' or "
                                          "'allowed_tools'"));
  }
}

// The older function_call: "none", "auto" or {"name"}.
void read_function_call(FieldReader& fields, const Json& value, ToolChoice* choice) {
  const std::string path = fields.path("function_call");
  if (value.is_object()) {
    FieldReader call(value.as_object(), path);
    const std::optional<std::string> name = call.text("name");
    if (call.ok() && !name.has_value()) {
      call.fail(ApiError::missing(call.path("name")));
    }
    fields.absorb(call);
    *choice = {Mode::kRequired, true, {name.value_or("")}, path};
  } else if (!value.is_string() || value.as_string() == "required" ||
             !read_mode(value.as_string(), true, choice)) {
    fail_at(fields, path, "expected 'none', 'auto' or an object with 'name'");
  }
}

void read_choice(FieldReader& fields, ToolUse* use) {
  const Json* value = fields.find("tool_choice");
  const Json* older = fields.find("function_call");
  if (older != nullptr) {
    if (value != nullptr) {
      fail_at(fields, fields.path("function_call"),
              "and 'tool_choice' exclude each other; send 'tool_choice'");
      return;
    }
    read_function_call(fields, *older, &use->choice);
  } else if (value != nullptr && value->is_object()) {
    FieldReader choice(value->as_object(), fields.path("tool_choice"));
    read_choice_object(choice, &use->choice);
    fields.absorb(choice);
  } else if (value != nullptr &&
             (!value->is_string() || !read_mode(value->as_string(), true, &use->choice))) {
    fail_at(fields, fields.path("tool_choice"),
            "expected 'none', 'auto', 'required' or an object with 'type'");
  }
}

std::string list_tools(const std::vector<Tool>& tools) {
  constexpr std::size_t kMaxShown = 20;
  std::string out;
  for (std::size_t i = 0; i < tools.size() && i < kMaxShown; ++i) {
    out += (i == 0 ? "'" : ", '") + tools[i].name + "'";
  }
  return out + (tools.size() > kMaxShown ? ", …" : "");
}

}  // namespace

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '-' || c == '.' || c == ':';
         });
}

Json no_parameters() {
  return JsonObject{{"type", "object"}, {"properties", JsonObject()}};
}

std::vector<const Tool*> ToolUse::callable() const {
  std::vector<const Tool*> out;
  const std::set<std::string_view> names(choice.names.begin(), choice.names.end());
  for (const Tool& tool : tools) {
    if (names.empty() || names.count(tool.name) > 0) {
      out.push_back(&tool);
    }
  }
  return out;
}

void check_tool_use(FieldReader& fields, const ToolUse& use, const std::string& param) {
  std::set<std::string_view> names;
  for (const Tool& tool : use.tools) {
    if (!names.insert(tool.name).second) {
      const std::string path = fields.path(use.is_function_form ? "functions" : "tools");
      fail_at(fields, path, "holds two tools '" + tool.name + "', expected names that differ");
    }
  }
  for (const std::string& name : use.choice.names) {
    if (names.count(name) == 0) {
      fail_at(fields, param,
              "names the tool '" + name.substr(0, kMaxToolNameBytes) + "', " +
                  (names.empty() ? std::string("but there are no tools")
                                 : "expected one of " + list_tools(use.tools)));
    }
  }
  if (use.tools.empty() && use.choice.mode == Mode::kRequired) {
    fail_at(fields, param, "needs tools");
  }
}

ToolUse read_tool_use(FieldReader& fields) {
  ToolUse use;
  read_tools(fields, &use);
  read_choice(fields, &use);
  use.parallel = fields.boolean("parallel_tool_calls").value_or(true) && !use.is_function_form;
  if (fields.ok()) {
    const bool is_older = use.is_function_form || fields.has("function_call");
    check_tool_use(fields, use, fields.path(is_older ? "function_call" : "tool_choice"));
  }
  return use;
}

Json tools_for_template(const ToolUse& use) {
  if (!use.is_on()) {
    return {};
  }
  JsonArray out;
  for (const Tool& tool : use.tools) {
    JsonObject function{{"name", tool.name}};
    if (!tool.description.empty()) {
      function.append("description", tool.description);
    }
    function.append("parameters", tool.parameters);
    out.emplace_back(JsonObject{{"type", "function"}, {"function", std::move(function)}});
  }
  return out;
}

}  // namespace plumb
