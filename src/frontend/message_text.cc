// SPDX-License-Identifier: Apache-2.0
#include "frontend/message_text.h"

namespace plumb {

std::string message_text(const Json& message) {
  const Json* content = message.is_object() ? message.as_object().find("content") : nullptr;
  if (content == nullptr || content->is_string()) {
    return content == nullptr ? "" : content->as_string();
  }
  std::string text;
  for (const Json& part : content->is_array() ? content->as_array() : JsonArray()) {
    const Json* piece = part.is_object() ? part.as_object().find("text") : nullptr;
    text += piece != nullptr && piece->is_string() ? piece->as_string() : "";
  }
  return text;
}

}  // namespace plumb
