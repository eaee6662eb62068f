// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "api/messages_response.h"
#include "frontend/response_format.h"

namespace plumb {

/// The format of Anthropic's Messages: one choice, named events.
std::unique_ptr<ResponseFormat> make_messages_format(ResponseEnvelope envelope,
                                                     MessagesResponse::Options options);

}  // namespace plumb
