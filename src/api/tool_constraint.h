// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/constraint.h"
#include "api/error.h"
#include "api/output_parser.h"
#include "api/tools.h"

namespace plumb {

/// Where the prompt leaves the model.
enum class ReasoningStart : unsigned char {
  kOpen,    ///< it may begin to reason, or not
  kInside,  ///< it reasons already
  kClosed,  ///< it has been told not to
};

/// 400 invalid_value for a constraint of the answer beside a choice that wants calls, which would
/// drop it. A format of the text (response_format and its like) is fine: it is that of an answer
/// that has text, as clients with tools and a type for their last answer send both.
std::optional<ApiError> check_constraint_beside(const ConstraintSpec& text, const ToolUse& use);

/// What an answer has to be, when tools are declared beside a constraint on its text: calls in the
/// model's format where they are asked for, the calls or the text where they are left to the model,
/// behind the reasoning. What nothing needs to enforce is kNone.
///
/// Calls are enforced by name, and by schema where the format writes JSON or XML; the arguments of
/// gemma4, and the values of Python arguments, by their syntax alone. Where calling is left to the
/// model, only tools with `strict` are held to their schemas. Inputs of custom tools follow their
/// regular expression or grammar where the format writes JSON or XML, but for those of the tools
/// named in `free_inputs`, which no grammar can hold.
/// Requires format.tools if calls may be asked for.
ConstraintSpec constrain_answer(const ConstraintSpec& text, const ToolUse& use,
                                const OutputFormat& format, ReasoningStart start,
                                const std::vector<std::string>& free_inputs = {});

}  // namespace plumb
