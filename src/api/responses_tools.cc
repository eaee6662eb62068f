// SPDX-License-Identifier: Apache-2.0
#include "api/responses_tools.h"

#include <algorithm>
#include <utility>

#include "api/custom_tool.h"

namespace plumb {
namespace {

using Mode = ToolChoice::Mode;

constexpr std::size_t kMaxShownBytes = 64;

constexpr std::string_view kHostedTools[] = {
    "image_generation", "file_search", "code_interpreter",
    "local_shell",      "shell",       "programmatic_tool_calling",
    "apply_patch",      "mcp",         "tool_search",
};

void refuse_tool(FieldReader& reader, const std::string& path, const std::string& what) {
  reader.fail(ApiError::invalid("invalid_value", path, "'" + path + "' " + what));
}

std::string needed_name(FieldReader& reader) {
  std::string name = reader.needed_text("name");
  if (reader.ok() && name.empty()) {
    reader.fail(ApiError::missing(reader.path("name")));
  }
  return name;
}

void read_function_fields(FieldReader& tool, Tool* out) {
  const JsonObject* parameters = tool.object("parameters");
  out->param = tool.path("parameters");
  out->parameters = parameters != nullptr ? Json(*parameters) : no_parameters();
  out->strict = tool.boolean("strict").value_or(false);
}

}  // namespace

bool is_hosted_tool(std::string_view type) {
  return type.starts_with("web_search") || type.starts_with("computer") ||
         std::find(std::begin(kHostedTools), std::end(kHostedTools), type) !=
             std::end(kHostedTools);
}

std::string shown_tool_name(std::string_view name, std::string_view name_space) {
  if (name_space.empty()) {
    return std::string(name);
  }
  return std::string(name_space) + (name_space.ends_with("__") ? "" : "__") + std::string(name);
}

void ResponsesTools::read_one(FieldReader& tool, const std::string& name_space,
                              const std::string& list_path, bool skips_known) {
  const bool is_custom = tool.text("type").value_or("") == "custom";
  ToolIdentity identity{needed_name(tool), name_space, is_custom};
  Tool out;
  out.name = shown_tool_name(identity.name, name_space);
  out.description = tool.text("description").value_or("");
  if (is_custom) {
    read_custom_format(tool, GrammarForm::kFlat, &out);
  } else {
    read_function_fields(tool, &out);
  }
  for (const char* harmless : {"defer_loading", "allowed_callers", "output_schema", "async"}) {
    tool.find(harmless);
  }
  if (tool.ok() && !is_tool_name(out.name)) {
    refuse_tool(tool, tool.path("name"),
                "is '" + out.name.substr(0, kMaxShownBytes) +
                    "' with its namespace, expected 1 to 128 letters, digits, _, -, . or :");
  }
  if (skips_known && std::any_of(known_.begin(), known_.end(),
                                 [&](const Known& known) { return known.identity == identity; })) {
    return;
  }
  if (std::ssize(use_.tools) == kMaxTools) {
    refuse_tool(tool, list_path, "gives more than " + std::to_string(kMaxTools) + " tools");
    return;
  }
  known_.push_back({out.name, std::move(identity)});
  use_.tools.push_back(std::move(out));
}

void ResponsesTools::read_namespace(FieldReader& tool, const std::string& list_path,
                                    bool skips_known) {
  const std::string name = needed_name(tool);
  tool.text("description");
  const JsonArray* inner_tools = tool.array("tools", kMaxTools);
  if (tool.ok() && inner_tools == nullptr) {
    tool.fail(ApiError::missing(tool.path("tools")));
  }
  for (std::size_t i = 0; tool.ok() && i < inner_tools->size(); ++i) {
    const std::string at = tool.path("tools") + "[" + std::to_string(i) + "]";
    if (!(*inner_tools)[i].is_object()) {
      tool.fail(ApiError::wrong_type(at, "an object"));
      return;
    }
    FieldReader inner((*inner_tools)[i].as_object(), at);
    const auto type = inner.choice("type", {"function", "custom"});
    if (inner.ok() && !type.has_value()) {
      inner.fail(ApiError::missing(inner.path("type")));
    }
    read_one(inner, name, list_path, skips_known);
    tool.absorb(inner);
  }
}

void ResponsesTools::read(FieldReader& fields, const JsonArray& tools, const std::string& path,
                          bool skips_known) {
  if (std::ssize(tools) > kMaxTools) {
    refuse_tool(fields, path, "gives more than " + std::to_string(kMaxTools) + " tools");
  }
  for (std::size_t i = 0; i < tools.size() && fields.ok(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (!tools[i].is_object()) {
      fields.fail(ApiError::wrong_type(at, "an object"));
      return;
    }
    FieldReader tool(tools[i].as_object(), at);
    const std::string type = tool.text("type").value_or("");
    if (is_hosted_tool(type)) {
      if (std::find(left_out_.begin(), left_out_.end(), type) == left_out_.end()) {
        left_out_.push_back(type);
      }
      continue;
    }
    if (type == "namespace") {
      read_namespace(tool, path, skips_known);
    } else if (type == "function" || type == "custom") {
      read_one(tool, "", path, skips_known);
    } else if (tool.ok()) {
      refuse_tool(tool, tool.path("type"),
                  "is '" + type.substr(0, kMaxShownBytes) +
                      "', expected 'function', 'custom' or 'namespace'");
    }
    fields.absorb(tool);
  }
}

// The model's name for the tool that {type,name,namespace?} means; check() tells of one that is
// none.
std::string ResponsesTools::read_choice_name(FieldReader& choice) const {
  std::string name = needed_name(choice);
  const std::optional<std::string> name_space = choice.text("namespace");
  for (const Known& known : known_) {
    if (known.identity.name == name &&
        (!name_space.has_value() || known.identity.name_space == *name_space)) {
      return known.shown_name;
    }
  }
  return name;
}

void ResponsesTools::read_allowed_tools(FieldReader& choice) {
  const auto mode = choice.choice("mode", {"auto", "required"});
  const JsonArray* tools = choice.array("tools", kMaxTools);
  if (choice.ok() && (!mode.has_value() || tools == nullptr || tools->empty())) {
    choice.fail(ApiError::missing(choice.path(!mode.has_value() ? "mode" : "tools")));
  }
  for (std::size_t i = 0; choice.ok() && i < tools->size(); ++i) {
    const std::string at = choice.path("tools") + "[" + std::to_string(i) + "]";
    if (!(*tools)[i].is_object()) {
      choice.fail(ApiError::wrong_type(at, "an object"));
      return;
    }
    FieldReader item((*tools)[i].as_object(), at);
    const std::string type = item.text("type").value_or("function");
    if (is_hosted_tool(type)) {
      continue;
    }
    if (type == "function" || type == "custom") {
      use_.choice.names.push_back(read_choice_name(item));
    } else {
      refuse_tool(item, item.path("type"), "expected 'function' or 'custom'");
    }
    choice.absorb(item);
  }
  use_.choice.mode = mode == "required" ? Mode::kRequired : Mode::kAuto;
  if (choice.ok() && use_.choice.names.empty()) {  // hosted tools alone
    if (use_.choice.mode == Mode::kRequired) {
      choice.fail(ApiError::unsupported(choice.path("tools"),
                                        "this server runs none of the tools that may be called"));
    }
    use_.choice.mode = Mode::kNone;
  }
}

void ResponsesTools::read_choice_object(FieldReader& choice) {
  const std::string type = choice.text("type").value_or("");
  if (type == "allowed_tools") {
    read_allowed_tools(choice);
  } else if (type == "function" || type == "custom") {
    use_.choice = {Mode::kRequired, true, {read_choice_name(choice)}};
  } else if (choice.ok()) {
    choice.fail(ApiError::unsupported(choice.path("type"),
                                      "'" + type.substr(0, kMaxShownBytes) +
                                          "' is not offered, expected 'function', 'custom' or "
                                          "'allowed_tools'"));
  }
}

void ResponsesTools::read_choice(FieldReader& fields) {
  const Json* value = fields.find("tool_choice");
  if (value == nullptr) {
    return;
  }
  if (value->is_object()) {
    FieldReader choice(value->as_object(), fields.path("tool_choice"));
    read_choice_object(choice);
    fields.absorb(choice);
    return;
  }
  const std::string word = value->is_string() ? value->as_string() : "";
  if (word == "auto") {
    use_.choice.mode = Mode::kAuto;
  } else if (word == "required") {
    use_.choice.mode = Mode::kRequired;
  } else if (word == "none") {
    use_.choice.mode = Mode::kNone;
  } else {
    refuse_tool(fields, fields.path("tool_choice"),
                "expected 'none', 'auto', 'required' or an object with 'type'");
  }
}

void ResponsesTools::check(FieldReader& fields) const {
  check_tool_use(fields, use_, fields.path("tool_choice"));
}

ToolIdentity ResponsesTools::identity_of(std::string_view shown_name) const {
  for (const Known& known : known_) {
    if (known.shown_name == shown_name) {
      return known.identity;
    }
  }
  return {std::string(shown_name)};
}

}  // namespace plumb
