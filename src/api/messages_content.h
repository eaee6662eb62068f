// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/field_reader.h"
#include "api/generation_params.h"
#include "base/json.h"

namespace plumb {

/// How the conversation of a Messages request is read.
struct MessagesOptions {
  bool keep_billing_line = false;    ///< at the begin of the system prompt
  bool late_system_as_user = false;  ///< for templates that take no system turn among the others
  bool is_count = false;             ///< of tokens only: max_tokens need not be there
};

/// The conversation of a Messages request, in the form of Chat Completions.
struct MessagesConversation {
  JsonArray messages;
  bool has_late_system = false;      ///< a system turn stands among the others
  bool has_prefill = false;          ///< the last turn is the begin of the answer
  std::vector<std::string> ignored;  ///< paths of the blocks that were left out
};

/// Reads system and messages. Turns of the same role that follow each other become one, results of
/// tools come before the rest of their turn, thinking becomes the reasoning of its turn. Errors
/// stay in the reader.
MessagesConversation read_conversation(FieldReader& fields, const MessagesOptions& options,
                                       const ApiLimits& limits);

}  // namespace plumb
