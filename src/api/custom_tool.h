// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "api/field_reader.h"
#include "api/tools.h"
#include "base/json.h"

namespace plumb {

/// Where the syntax and the definition of a custom tool's grammar stand.
enum class GrammarForm : unsigned char {
  kFlat,    ///< {type:grammar,syntax,definition}, as Responses has it
  kNested,  ///< {type:grammar,grammar:{syntax,definition}}, as Chat Completions has it
};

/// Reads the `format` of a custom tool into its input, its parameters and what is told of it: the
/// model sees a function with one string. Errors stay in the reader. Requires the description has
/// been read.
void read_custom_format(FieldReader& tool, GrammarForm form, Tool* out);

/// The schema of those arguments: {"input": string}, and what the string has to match.
Json custom_parameters(std::string_view pattern = "");

/// What a message tells of a tool's input that it does not say itself: "regex" or "lark".
std::string_view syntax_name(InputFormat::Syntax syntax);

/// An input that does not match what its tool asks for. `place`: what does not, and where.
ApiError invalid_custom_input(std::string_view tool, const InputFormat& format,
                              std::string_view place);

/// The code of that error.
inline constexpr std::string_view kInvalidInputCode = "custom_tool_input_invalid";

}  // namespace plumb
