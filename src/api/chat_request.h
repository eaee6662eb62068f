// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "api/error.h"
#include "api/generation_params.h"
#include "base/json.h"

namespace plumb {

/// A checked body of POST /v1/chat/completions.
struct ChatRequest {
  GenerationParams generation;
  JsonArray messages;          ///< each an object with a known role and well-formed content
  Json tools;                  ///< array or null, for the template
  JsonObject template_kwargs;  ///< further variables of the template
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  std::vector<std::string> ignored_fields;  ///< unknown names, for the response header
};

/// Reads and checks the body. The error names the field, the value and the limit.
std::variant<ChatRequest, ApiError> read_chat_request(const Json& body,
                                                      const SamplingDefaults& defaults,
                                                      const ApiLimits& limits);

/// The messages of a body that has them (chat, /tokenize): every role and content checked.
JsonArray read_messages(FieldReader& fields, const ApiLimits& limits);

}  // namespace plumb
