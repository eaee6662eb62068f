// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// Random ids of the API; the randomness is the operating system's.
std::string new_chat_id();        ///< chatcmpl- and 29 alphanumerics
std::string new_completion_id();  ///< cmpl- and 29 alphanumerics
std::string new_message_id();     ///< of Anthropic's API: msg_ and 24 alphanumerics
std::string new_response_id();    ///< resp_ and 48 hex digits
/// Of an item of a response: `prefix` (msg, rs, fc, ctc …), _ and 48 hex digits.
std::string new_item_id(std::string_view prefix);
std::string new_request_id();  ///< req_ and 32 hex digits
std::string random_hex(int num_digits);
std::string random_alnum(int num_chars);

/// True if a client's x-request-id may be echoed: [A-Za-z0-9._:-]{1,128}.
bool is_request_id(std::string_view text);

}  // namespace plumb
