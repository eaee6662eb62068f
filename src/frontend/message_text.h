// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"

namespace plumb {

/// The text of a message's content, which is a string or an array of parts; empty without one.
std::string message_text(const Json& message);

}  // namespace plumb
