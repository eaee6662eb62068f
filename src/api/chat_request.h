// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "api/error.h"
#include "api/generation_params.h"
#include "api/tools.h"
#include "base/json.h"
#include "base/token_id.h"

namespace plumb {

/// What becomes of the reasoning of an answer. Whether and how hard a model reasons is said by
/// variables of its template, see set_reasoning_effort(), and by the budget in GenerationParams.
struct ReasoningOptions {
  bool separate = true;  ///< apart from the text; otherwise it stays there as the model wrote it
  bool stream = true;    ///< in deltas as it comes; otherwise in one when it is over
  bool is_shown = true;  ///< otherwise it is counted and left out
};

/// A conversation to be answered: a checked body of POST /v1/chat/completions, or that of another
/// dialect brought into the same form.
struct ChatRequest {
  GenerationParams generation;
  JsonArray messages;  ///< each an object with a known role and well-formed content
  ToolUse tool_use;
  ReasoningOptions reasoning;
  JsonObject template_kwargs;    ///< further variables of the template
  std::vector<TokenId> context;  ///< of an earlier answer, before the rendered conversation
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  std::vector<std::string> ignored_fields;  ///< unknown names, for the response header
};

/// Reads and checks the body. The error names the field, the value and the limit.
std::variant<ChatRequest, ApiError> read_chat_request(const Json& body,
                                                      const SamplingDefaults& defaults,
                                                      const ApiLimits& limits);

/// The variables of the template in chat_template_kwargs; none may replace what is checked.
JsonObject read_template_kwargs(FieldReader& fields);

/// Sets the variables by which templates switch reasoning on or off, where the request does not set
/// them itself: enable_thinking and thinking.
void set_thinking(bool is_on, JsonObject* template_kwargs);

/// Sets the variable reasoning_effort, and those of set_thinking(): off for the effort "none".
void set_reasoning_effort(const std::string& effort, JsonObject* template_kwargs);

/// The messages of a body that has them (chat, /tokenize): every role and content checked. The
/// older function_call and the role function are told as tool_calls and the role tool.
JsonArray read_messages(FieldReader& fields, const ApiLimits& limits);

}  // namespace plumb
