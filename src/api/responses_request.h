// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/chat_request.h"
#include "api/error.h"
#include "api/generation_params.h"
#include "api/responses_items.h"
#include "api/responses_tools.h"
#include "base/json.h"

namespace plumb {

/// What a server does with tools and items that only a hosted API could run.
struct HostedRules {
  bool refuses_tools = false;  ///< otherwise they are left out and named in a header
  bool refuses_items = false;
};

/// A checked body of POST /v1/responses; its conversation may begin in stored responses.
struct ResponsesRequest {
  GenerationParams generation;
  ResponsesItems input;
  std::optional<std::string> instructions;
  std::string previous_response_id;  ///< empty = none
  bool store = true;
  bool background = false;
  bool truncates = false;  ///< the oldest items give way where the context is too short
  bool shows_encrypted_reasoning = false;
  bool shows_logprobs = false;
  bool shows_summary = false;
  std::optional<std::string> effort;
  JsonObject tool_fields;  ///< tools, tool_choice and parallel_tool_calls, as sent
  JsonObject format;       ///< text.format, as sent
  JsonObject echo;         ///< members of the response that tell the request
  std::vector<std::string> ignored_fields;
};

/// Reads and checks the body, but for its tools, which stored items may add to.
std::variant<ResponsesRequest, ApiError> read_responses_request(const Json& body,
                                                                const SamplingDefaults& defaults,
                                                                const ApiLimits& limits,
                                                                const HostedRules& hosted = {});

/// Gives back the text that encrypted_content holds; nothing where it is none of this server's.
using Unseal = std::function<std::optional<std::string>(std::string_view sealed)>;

/// A request together with everything said before it.
struct ResponsesConversation {
  ChatRequest chat;
  ResponsesTools tools;
  std::vector<std::string> left_out_tools;  ///< types
};

/// Turns items (stored ones first, then those of the request) into the conversation that the model
/// answers. Outputs without a call_id get that of the call which they answer.
/// Requires no references are left among the items; `num_inherited` of them are stored ones.
std::variant<ResponsesConversation, ApiError> make_responses_conversation(
    const ResponsesRequest& request, JsonArray* items, std::size_t num_inherited,
    const HostedRules& hosted, const Unseal& unseal);

/// Which items go together when the oldest give way: a number for each item, 0 for the oldest that
/// may go, 1 for the next …; -1 for those that stay (the last message of the user, messages of the
/// system and the developer, tools). Calls go with their outputs, reasoning with what follows it.
std::vector<std::int64_t> order_of_leaving(const JsonArray& items);

/// Puts messages of the system and the developer in front of all others, as one, for templates that
/// take none elsewhere. False if there is nothing to move.
bool move_instructions_to_front(JsonArray* messages);

}  // namespace plumb
