// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/json_fields.h"

namespace plumb {
namespace {

Status append_flat(const Json& component, std::string_view list_name,
                   std::vector<const Json*>* out) {
  if (component.is_null()) {
    return {};
  }
  PLUMB_ASSIGN(const std::string type, string_field(component, "type"));
  if (type != "Sequence") {
    out->push_back(&component);
    return {};
  }
  const Json* list = component.find(list_name);
  if (list == nullptr || !list->is_array()) {
    return {Code::kInvalidArgument, "a Sequence without a list '" + std::string(list_name) + "'"};
  }
  for (const Json& entry : list->as_array()) {
    PLUMB_RETURN_IF_ERROR(append_flat(entry, list_name, out));
  }
  return {};
}

}  // namespace

Result<std::string> string_field(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  if (value == nullptr || !value->is_string()) {
    return Status{Code::kInvalidArgument,
                  "field '" + std::string(name) + "' is missing or no string"};
  }
  return value->as_string();
}

bool bool_field(const Json& object, std::string_view name, bool fallback) {
  const Json* value = object.find(name);
  return value != nullptr && value->is_bool() ? value->as_bool() : fallback;
}

Result<JsonPattern> pattern_field(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  if (value != nullptr) {
    if (const Json* text = value->find("String"); text != nullptr && text->is_string()) {
      return JsonPattern{text->as_string(), false};
    }
    if (const Json* regex = value->find("Regex"); regex != nullptr && regex->is_string()) {
      return JsonPattern{regex->as_string(), true};
    }
  }
  return Status{Code::kInvalidArgument,
                "field '" + std::string(name) + "' is neither a String nor a Regex"};
}

Result<std::vector<const Json*>> flatten_sequence(const Json& component,
                                                  std::string_view list_name) {
  std::vector<const Json*> out;
  PLUMB_RETURN_IF_ERROR(append_flat(component, list_name, &out));
  return out;
}

}  // namespace plumb
