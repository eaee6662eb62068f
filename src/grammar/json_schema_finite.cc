// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema_finite.h"

#include <algorithm>

namespace plumb {

namespace {

constexpr std::size_t kMaxValues = 256;
constexpr int kMaxReferences = 16;

void add(const Json& value, std::vector<const Json*>* values) {
  const bool known = std::any_of(values->begin(), values->end(), [&](const Json* other) {
    return json_schema_equal(*other, value);
  });
  if (!known) {
    values->push_back(&value);
  }
}

bool add_types(const Json& names, std::vector<const Json*>* values) {
  static const Json null;
  static const Json truth(true);
  static const Json falsehood(false);
  const JsonArray one{names};
  const JsonArray& list = names.is_array() ? names.as_array() : one;
  if (!std::all_of(list.begin(), list.end(), [](const Json& name) {
        return name == Json("null") || name == Json("boolean");
      })) {
    return false;
  }
  for (const Json& name : list) {
    if (name == Json("null")) {
      add(null, values);
    } else {
      add(truth, values);
      add(falsehood, values);
    }
  }
  return true;
}

/// Values of one literal, if it has few; follows $ref.
bool add_values(JsonSchemaTerms* terms, Literal literal, int depth,
                std::vector<const Json*>* values) {
  if (is_negative(literal) || depth > kMaxReferences) {
    return false;
  }
  const LiteralTarget target = terms->target(literal);
  if (target.kind == LiteralTarget::Kind::kConstant) {
    add(*target.constant, values);
    return true;
  }
  if (target.kind != LiteralTarget::Kind::kSchema) {
    return false;
  }
  const JsonObject& schema = terms->document().json(target.schema).as_object();
  if (const Json* const value = schema.find("const")) {
    add(*value, values);
    return true;
  }
  if (const Json* const choices = schema.find("enum")) {
    for (const Json& choice : choices->as_array()) {
      if (values->size() > kMaxValues) {
        return false;  // looking for equal ones costs a comparison with each
      }
      add(choice, values);
    }
    return values->size() <= kMaxValues;
  }
  if (const Json* const type = schema.find("type"); type != nullptr && add_types(*type, values)) {
    return true;
  }
  const Json* const reference = schema.find("$ref");
  return reference != nullptr &&
         add_values(terms,
                    terms->reference(target.schema, target.scope, reference->as_string(), false),
                    depth + 1, values);
}

}  // namespace

bool json_schema_equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    return a == b || a.as_double() == b.as_double();
  }
  if (a.is_array() && b.is_array()) {
    return a.as_array().size() == b.as_array().size() &&
           std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(),
                      json_schema_equal);
  }
  if (a.is_object() && b.is_object()) {
    return a.as_object().size() == b.as_object().size() &&
           std::all_of(a.as_object().begin(), a.as_object().end(), [&](const JsonMember& member) {
             const Json* const other = b.find(member.key);
             return other != nullptr && json_schema_equal(member.value, *other);
           });
  }
  return a == b;
}

bool add_finite_values(JsonSchemaTerms* terms, GoalId goal, std::vector<const Json*>* values) {
  const std::span<const Literal> view = terms->literals(goal);
  const std::vector<Literal> literals(view.begin(), view.end());
  return std::any_of(literals.begin(), literals.end(),
                     [&](Literal literal) { return add_values(terms, literal, 0, values); });
}

}  // namespace plumb
