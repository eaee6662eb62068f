// SPDX-License-Identifier: Apache-2.0
#include "server/stored_response.h"

#include "base/json.h"

namespace plumb {
namespace {

constexpr const char* kInterrupted = "the server ended before the response did";

// Calls visit(id, item) for each item of a stored response.
template <class Visit>
void visit_items(const StoredResponse& response, const Visit& visit) {
  const Result<Json> inputs = parse_json(response.inputs);
  const Result<Json> object = parse_json(response.response);
  const Json* output = object.ok() ? object.value().find("output") : nullptr;
  for (const Json* items : {inputs.ok() ? &inputs.value() : nullptr, output}) {
    if (items == nullptr || !items->is_array()) {
      continue;
    }
    for (const Json& item : items->as_array()) {
      const Json* id = item.find("id");
      if (id != nullptr && id->is_string()) {
        visit(id->as_string(), item);
      }
    }
  }
}

}  // namespace

// Letters and underscores can be written as \u00XX.
bool may_name_stored(std::string_view body) {
  for (const std::string_view sign : {R"("previous_response_id")", R"("id")", R"(\u00)"}) {
    if (body.find(sign) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

void tell_failed(const std::string& why, StoredResponse* stored) {
  Result<Json> response = parse_json(stored->response);
  stored->is_running = false;
  if (!response.ok() || !response.value().is_object()) {
    return;
  }
  JsonObject& object = response.value().as_object();
  object.set("status", "failed");
  object.set("error", JsonObject{{"code", "server_error"}, {"message", why}});
  stored->response = to_text(response.value());
}

void tell_interrupted(StoredResponse* stored) {
  tell_failed(kInterrupted, stored);
}

bool is_sound(const StoredResponse& stored) {
  const Result<Json> response = parse_json(stored.response);
  const Result<Json> inputs = parse_json(stored.inputs);
  return response.ok() && response.value().is_object() && inputs.ok() && inputs.value().is_array();
}

std::vector<std::string> item_ids(const StoredResponse& stored) {
  std::vector<std::string> ids;
  visit_items(stored, [&](const std::string& id, const Json&) { ids.push_back(id); });
  return ids;
}

std::string item_text(const StoredResponse& stored, std::string_view item_id) {
  std::string text;
  visit_items(stored, [&](const std::string& id, const Json& item) {
    text = id == item_id ? to_text(item) : text;
  });
  return text;
}

}  // namespace plumb
