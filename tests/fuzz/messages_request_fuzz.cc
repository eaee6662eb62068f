// SPDX-License-Identifier: Apache-2.0
// Bodies of /v1/messages: a conversation in the form that templates expect, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/messages_request.h"
#include "base/check.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const Result<Json> body = parse_json({reinterpret_cast<const char*>(data), size});
  if (!body.ok()) {
    return 0;
  }
  for (const bool late_system_as_user : {false, true}) {
    const auto read =
        read_messages_request(body.value(), SamplingDefaults(), ApiLimits(),
                              {.late_system_as_user = late_system_as_user, .is_count = true});
    if (const auto* error = std::get_if<ApiError>(&read)) {
      PLUMB_CHECK(error->http_status == 400 && !error->message.empty(),
                  "an error without a reason");
      continue;
    }
    const ChatRequest& chat = std::get<MessagesRequest>(read).chat;
    for (const Json& message : chat.messages) {
      const Json* role = message.find("role");
      PLUMB_CHECK(role != nullptr && role->is_string(), "a message without a role");
    }
    PLUMB_CHECK(parse_json(to_text(Json(chat.messages))).ok(), "messages that are no JSON");
  }
  return 0;
}
