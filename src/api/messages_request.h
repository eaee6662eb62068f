// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "api/chat_request.h"
#include "api/messages_content.h"

namespace plumb {

/// A checked body of POST /v1/messages or /v1/messages/count_tokens.
struct MessagesRequest {
  ChatRequest chat;
  bool has_late_system = false;  ///< a system turn stands among the others
  bool omits_thinking = false;   ///< blocks of thinking come without their text
};

/// Reads and checks the body. The error names the field, the value and the limit.
std::variant<MessagesRequest, ApiError> read_messages_request(const Json& body,
                                                              const SamplingDefaults& defaults,
                                                              const ApiLimits& limits,
                                                              const MessagesOptions& options);

}  // namespace plumb
