// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// How one call is written.
enum class CallSyntax : unsigned char {
  kObject,   ///< {"name": "f", "arguments": {…}}, or "parameters"
  kNamed,    ///< the name, then the arguments as JSON
  kXml,      ///< the name, then each argument between marks of its own
  kPython,   ///< f(a=1, b='x')
  kGemma,    ///< call:f{a:1,b:<|"|>x<|"|>}
  kHarmony,  ///< a message to functions.f
};

/// What ids of calls look like.
enum class CallIds : unsigned char {
  kOfDialect,  ///< as the API says
  kMistral,    ///< 9 letters and digits
  kKimi,       ///< as the model writes them: functions.f:0
};

/// The marks of kXml.
struct XmlMarks {
  std::string_view name_begin;  ///< before the name; empty: it ends with its line
  std::string_view name_end;
  std::string_view key_begin;
  std::string_view key_end;
  std::string_view value_begin;  ///< after the key; may be empty
  std::string_view value_end;
  std::string_view end;        ///< of the call
  bool says_string = false;    ///< between key and value: string="true" or "false"
  bool has_line_ends = false;  ///< one around each value is no part of it
  bool guesses_types = false;  ///< a value without a schema is JSON if it reads as such
  std::string_view tag_style;  ///< of structural tags
};

/// A format in which a model writes its calls: a row of the table. Calls may stand in a section
/// that has marks of its own. Empty marks are none.
struct ToolFormat {
  std::string_view name;  ///< of --tool-call-parser
  std::string_view models;
  CallSyntax syntax = CallSyntax::kObject;
  std::array<std::string_view, 2> section_begins{};
  std::array<std::string_view, 2> section_ends{};
  std::string_view call_begin{};
  std::string_view call_sign{};  ///< a call without its begin begins with this
  std::string_view call_end{};
  std::string_view between{};      ///< bytes besides white space that may stand between calls
  std::string_view bare{};         ///< an answer that begins with one of these bytes may be a call
  bool has_builtins = false;       ///< f.call(a=1) may stand in a section
  std::string_view name_prefix{};  ///< of kNamed
  std::array<std::string_view, 2> name_ends{};
  std::string_view arguments_end{};
  XmlMarks xml{};
  CallIds ids = CallIds::kOfDialect;
  /// How a call is written, for what a grammar enforces: {} stands for the name,
  /// {#} for the number of the call.
  std::string_view written_begin{};
  std::string_view written_end{};
  std::string_view separator{};      ///< between two calls
  std::string_view written_open{};   ///< before the first one
  std::string_view written_close{};  ///< behind the last one
  /// What of all that may be one token.
  std::array<std::string_view, 8> tokens{};
  /// A chat template that holds all of these texts is for this format.
  std::array<std::string_view, 3> signs{};
};

/// How a model marks its reasoning: a row of the table.
struct ReasoningFormat {
  std::string_view name;  ///< of --reasoning-parser
  std::string_view models;
  std::string_view begin;
  std::string_view end;
  std::array<std::string_view, 2> tokens{};  ///< what of them may be one token
  std::string_view sign{};  ///< a template that holds this, or a vocabulary with it as a token
};

std::span<const ToolFormat> tool_formats();
std::span<const ReasoningFormat> reasoning_formats();

/// Of models that have no format of their own: a JSON array of {"name", "parameters"}.
const ToolFormat& json_tool_format();

/// nullptr for a name that is none.
const ToolFormat* find_tool_format(std::string_view name);
const ReasoningFormat* find_reasoning_format(std::string_view name);

/// The formats of a model, by its chat template and by the tokens of its vocabulary; nullptr if
/// none is known.
const ToolFormat* detect_tool_format(std::string_view chat_template,
                                     const std::function<bool(std::string_view)>& has_token);
const ReasoningFormat* detect_reasoning_format(
    std::string_view chat_template, const std::function<bool(std::string_view)>& has_token);

/// "auto, none, hermes, …"
std::string list_tool_formats();
std::string list_reasoning_formats();

}  // namespace plumb
