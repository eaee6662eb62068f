// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/field_reader.h"
#include "api/generation_params.h"
#include "api/tools.h"
#include "base/json.h"

namespace plumb {

/// The messages of Ollama's API in the form of Chat Completions: thinking is reasoning_content, and
/// calls have ids, which results get in the order of the calls of their tool. Errors stay in the
/// reader.
JsonArray read_ollama_messages(FieldReader& fields, const ApiLimits& limits);

/// Its tools, with "type":"integer, string" read as one of these types. tool_choice and
/// parallel_tool_calls are taken as Chat Completions takes them. Errors stay in the reader.
ToolUse read_ollama_tools(FieldReader& fields);

/// Refuses a field with images.
void check_no_images(FieldReader& fields);

}  // namespace plumb
