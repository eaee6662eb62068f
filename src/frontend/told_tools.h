// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/chat_template.h"

namespace plumb {

/// Puts into words what a chat template without tools would leave out: the tools stand in the
/// system message, with the form of a call as the parser `hermes` reads it; former calls stand in
/// the assistant's text in that form, and their results in the user's.
///
/// Messages are objects with a role, as read by the API; other members stay. Thread: any.
void tell_tools_in_text(ChatInput* inputs);

}  // namespace plumb
