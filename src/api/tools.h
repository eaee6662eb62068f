// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_reader.h"
#include "base/json.h"

namespace plumb {

constexpr std::int64_t kMaxTools = 512;  ///< of a request

/// What the one text that a custom tool takes has to match.
struct InputFormat {
  enum class Syntax : unsigned char { kRegex, kLark };

  Syntax syntax = Syntax::kRegex;
  std::string definition;
  std::string param;  ///< path of the definition, for errors
};

/// A function that the model may call.
struct Tool {
  std::string name;
  std::string description;
  Json parameters;  ///< schema of an object: the arguments
  bool strict =
      false;  ///< arguments are held to the schema even where calling is left to the model
  bool is_custom = false;              ///< takes one text, which is the string `input` of the model
  std::optional<InputFormat> input{};  ///< of a custom tool
  std::string param{};                 ///< path of the parameters, for errors
};

/// Whether an answer may or must call tools, and which.
struct ToolChoice {
  enum class Mode : unsigned char { kNone, kAuto, kRequired };

  Mode mode = Mode::kAuto;
  bool is_named = false;              ///< exactly one call, of the one tool in `names`
  std::vector<std::string> names{};   ///< the tools that may be called; empty = all
  std::string param = "tool_choice";  ///< path of the field, for errors
};

/// The tools of a request in any dialect.
struct ToolUse {
  std::vector<Tool> tools;
  ToolChoice choice;
  bool parallel = true;  ///< otherwise the answer ends with its first call
  /// What ids of calls begin with, where the model's format does not say what they look like.
  std::string call_id_prefix = "call_";
  bool is_function_form = false;  ///< asked for, and to be answered, in the older `functions` form

  /// Whether calls are looked for in the answer.
  bool is_on() const { return !tools.empty() && choice.mode != ToolChoice::Mode::kNone; }

  /// Those that may be called.
  std::vector<const Tool*> callable() const;
};

/// Whether a tool may have that name: 1 to 128 letters, digits, _, -, . or :.
bool is_tool_name(std::string_view name);

/// The schema of a function without parameters: what stands for absent ones.
Json no_parameters();

/// Reads tools, tool_choice, parallel_tool_calls, and the older functions and function_call.
/// Errors stay in the reader: they name the field, the value and the limit.
ToolUse read_tool_use(FieldReader& fields);

/// An error if a name is none, or twice there, or the choice asks for a tool that there is not;
/// `param` is the field with the choice, for messages. For dialects that read their tools
/// themselves.
void check_tool_use(FieldReader& fields, const ToolUse& use, const std::string& param);

/// The tools as chat templates expect them: [{"type":"function","function":{…}}]. Null without
/// tools, and if none may be called.
Json tools_for_template(const ToolUse& use);

}  // namespace plumb
