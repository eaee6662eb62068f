// SPDX-License-Identifier: Apache-2.0
#include "api/messages_tools.h"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

// {name, description?, input_schema, strict?}
Tool read_custom_tool(FieldReader& fields) {
  Tool tool;
  tool.name = fields.text("name").value_or("");
  if (fields.ok() && !fields.has("name")) {
    fields.fail(ApiError::missing(fields.path("name")));
  } else if (fields.ok() && !is_tool_name(tool.name)) {
    fields.fail(ApiError::invalid("invalid_value", fields.path("name"),
                                  "'" + fields.path("name") + "' is '" + tool.name.substr(0, 64) +
                                      "', expected 1 to 128 letters, digits, _, -, . or :"));
  }
  tool.description = fields.text("description").value_or("");
  tool.strict = fields.boolean("strict").value_or(false);
  const JsonObject* schema = fields.object("input_schema");
  tool.param = fields.path("input_schema");
  if (schema == nullptr) {
    fields.fail(ApiError::missing(fields.path("input_schema")));
    return tool;
  }
  tool.parameters = *schema;
  if (schema->find("type") == nullptr) {
    tool.parameters.as_object().append("type", "object");
  }
  // They say how the hosted service treats a tool, and nothing that the model is told.
  for (const char* name : {"type", "cache_control", "defer_loading", "input_examples",
                           "allowed_callers", "eager_input_streaming"}) {
    fields.find(name);
  }
  return tool;
}

void read_messages_choice(FieldReader& fields, ToolUse* use) {
  const JsonObject* object = fields.object("tool_choice");
  if (object == nullptr) {
    return;
  }
  FieldReader choice(*object, fields.path("tool_choice"));
  const std::string type = choice.choice("type", {"auto", "any", "tool", "none"}).value_or("");
  const std::optional<std::string> name = choice.text("name");
  use->parallel = !choice.boolean("disable_parallel_tool_use").value_or(false);
  if (choice.ok() && type.empty()) {
    choice.fail(ApiError::missing(choice.path("type")));
  } else if (choice.ok() && type == "tool" && !name) {
    choice.fail(ApiError::missing(choice.path("name")));
  } else if (type == "tool") {
    use->choice = {ToolChoice::Mode::kRequired, true, {*name}};
  } else if (type == "any") {
    use->choice.mode = ToolChoice::Mode::kRequired;
  } else if (type == "none") {
    use->choice.mode = ToolChoice::Mode::kNone;
  }
  fields.absorb(choice);
}

// An error if a choice needs tools that were left out.
void check_hosted_choice(FieldReader& fields, const ToolUse& use,
                         const std::vector<std::string>& hosted) {
  const std::string param = fields.path("tool_choice");
  const auto refuse = [&](const std::string& what) {
    fields.fail(ApiError::invalid("invalid_value", param, "'" + param + "' " + what));
  };
  const ToolChoice& choice = use.choice;
  if (choice.is_named) {
    const std::string& name = choice.names.front();
    const bool is_declared = std::any_of(use.tools.begin(), use.tools.end(),
                                         [&](const Tool& tool) { return tool.name == name; });
    if (!is_declared && std::find(hosted.begin(), hosted.end(), name) != hosted.end()) {
      refuse("names the tool '" + name +
             "', which the hosted service runs and this server left out; name a tool with an "
             "'input_schema', or send 'auto'");
    }
  } else if (choice.mode == ToolChoice::Mode::kRequired && use.tools.empty() && !hosted.empty()) {
    refuse(
        "wants a call, but the hosted service runs all the 'tools' and this server left them out; "
        "declare a tool with an 'input_schema', or send 'auto'");
  }
}

}  // namespace

ToolUse read_messages_tools(FieldReader& fields, std::vector<std::string>* ignored) {
  ToolUse use;
  use.call_id_prefix = "toolu_";
  std::vector<std::string> hosted;
  const JsonArray* tools = fields.array("tools", kMaxTools);
  for (std::size_t i = 0; tools != nullptr && i < tools->size() && fields.ok(); ++i) {
    const std::string path = fields.path("tools") + "[" + std::to_string(i) + "]";
    if (!(*tools)[i].is_object()) {
      fields.fail(ApiError::wrong_type(path, "an object"));
      break;
    }
    FieldReader tool((*tools)[i].as_object(), path);
    const std::string type = tool.text("type").value_or("custom");
    if (tool.ok() && type != "custom") {
      ignored->push_back(path);
      hosted.push_back(tool.text("name").value_or(type).substr(0, 128));
      continue;
    }
    use.tools.push_back(read_custom_tool(tool));
    fields.absorb(tool);
  }
  read_messages_choice(fields, &use);
  if (fields.ok()) {
    check_hosted_choice(fields, use, hosted);
  }
  if (fields.ok()) {
    check_tool_use(fields, use, fields.path("tool_choice"));
  }
  return use;
}

}  // namespace plumb
