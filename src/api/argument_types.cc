// SPDX-License-Identifier: Apache-2.0
#include "api/argument_types.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace plumb {
namespace {

constexpr int kMaxDepth = 8;  // of references and combinations

// "#/$defs/X" inside the schema of the parameters.
const Json* resolve(const Json& reference, const Json& root) {
  for (const char* name : {"$defs", "definitions"}) {
    const std::string prefix = "#/" + std::string(name) + "/";
    const Json* definitions = root.find(name);
    if (reference.is_string() && definitions != nullptr &&
        reference.as_string().starts_with(prefix)) {
      return definitions->find(reference.as_string().substr(prefix.size()));
    }
  }
  return nullptr;
}

}  // namespace

unsigned ArgumentTypes::type_of(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      return kNull;
    case Json::Kind::kBool:
      return kBoolean;
    case Json::Kind::kInt:
    case Json::Kind::kUint:
      return kInteger | kNumber;
    case Json::Kind::kDouble:
      return value.as_double() == std::floor(value.as_double()) ? kInteger | kNumber : kNumber;
    case Json::Kind::kString:
      return kString;
    case Json::Kind::kArray:
      return kArray;
    case Json::Kind::kObject:
      return kObject;
  }
  return 0;
}

unsigned ArgumentTypes::type_named(const Json& name) {
  constexpr std::pair<std::string_view, unsigned> kNames[] = {
      {"string", kString}, {"integer", kInteger}, {"number", kNumber}, {"boolean", kBoolean},
      {"null", kNull},     {"array", kArray},     {"object", kObject}};
  for (const auto& [text, type] : kNames) {
    if (name.is_string() && name.as_string() == text) {
      return type;
    }
  }
  return 0;
}

void ArgumentTypes::add_schema(const Json& schema, const Json& root, int depth) {
  if (depth > kMaxDepth || !schema.is_object()) {
    return;
  }
  if (const Json* reference = schema.find("$ref")) {
    if (const Json* target = resolve(*reference, root)) {
      add_schema(*target, root, depth + 1);
    }
  }
  if (const Json* type = schema.find("type")) {
    for (const Json& name : type->is_array() ? type->as_array() : JsonArray{*type}) {
      set_ |= type_named(name);
    }
    return;
  }
  if (const Json* value = schema.find("const")) {
    set_ |= type_of(*value);
  }
  for (const char* name : {"enum", "anyOf", "oneOf", "allOf"}) {
    const Json* items = schema.find(name);
    if (items == nullptr || !items->is_array()) {
      continue;
    }
    for (const Json& item : items->as_array()) {
      if (std::string_view(name) == "enum") {
        set_ |= type_of(item);
      } else {
        add_schema(item, root, depth + 1);
      }
    }
  }
}

std::string ArgumentTypes::to_json(std::string_view text) const {
  const std::string_view trimmed = trim(text);
  const std::string word = to_lower_ascii(trimmed);
  const bool is_python = word == "true" || word == "false" || word == "none";
  const std::string_view spelled = !is_python       ? trimmed
                                   : word == "none" ? std::string_view("null")
                                                    : std::string_view(word);
  const Result<Json> value = parse_json(spelled);
  if (value.ok() && !value.value().is_string() && (type_of(value.value()) & set_) != 0) {
    return std::string(spelled);
  }
  const bool is_quoted = value.ok() && value.value().is_string() && set_ == kAny;
  std::string out;
  append_json_string(&out, is_quoted ? value.value().as_string() : std::string(text));
  return out;
}

ArgumentTypes find_argument_types(const std::vector<Tool>& tools, std::string_view tool,
                                  std::string_view parameter) {
  ArgumentTypes types;
  for (const Tool& candidate : tools) {
    const Json* properties =
        candidate.name == tool ? candidate.parameters.find("properties") : nullptr;
    const Json* schema = properties == nullptr ? nullptr : properties->find(parameter);
    if (schema != nullptr) {
      types.add_schema(*schema, candidate.parameters);
    }
  }
  return types;
}

}  // namespace plumb
