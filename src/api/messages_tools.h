// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/tools.h"

namespace plumb {

/// Reads tools and tool_choice of a Messages request. Tools that the hosted service runs itself are
/// left out, and named in *ignored. Errors stay in the reader.
ToolUse read_messages_tools(FieldReader& fields, std::vector<std::string>* ignored);

}  // namespace plumb
