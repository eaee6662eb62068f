// SPDX-License-Identifier: Apache-2.0
#include "api/constraint_surrogates.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_surrogates.h"

namespace plumb {
namespace {

/// Where constraints stand; `*` is any element of an array.
constexpr std::string_view kConstraintFields[] = {
    // OpenAI's Chat and Completions, with what other servers add; Ollama; native generation
    "response_format.json_schema.schema",
    "response_format.schema",
    "response_format.regex",
    "response_format.pattern",
    "response_format.grammar",
    "response_format.structures",
    "response_format.triggers",
    "response_format.format",
    "structured_outputs.json",
    "structured_outputs.regex",
    "structured_outputs.choice",
    "structured_outputs.grammar",
    "structured_outputs.structural_tag",
    "guided_json",
    "guided_regex",
    "guided_grammar",
    "guided_choice",
    "json_schema",
    "regex",
    "ebnf",
    "grammar",
    "structural_tag",
    "format",
    "sampling_params.json_schema",
    "sampling_params.regex",
    "sampling_params.ebnf",
    "sampling_params.structural_tag",
    "sampling_params.*.json_schema",
    "sampling_params.*.regex",
    "sampling_params.*.ebnf",
    "sampling_params.*.structural_tag",
    // Anthropic's Messages
    "output_config.format.schema",
    "output_format.schema",
    // OpenAI's Responses
    "text.format.schema",
    "input.*.text.format.schema",
};

/// The same of tools.
constexpr std::string_view kToolFields[] = {
    "tools.*.function.parameters",
    "functions.*.parameters",
    "tools.*.input_schema",
    "tools.*.parameters",
    "tools.*.format.definition",
    "tools.*.custom.format.grammar.definition",
    "tools.*.custom.format.definition",
    "tools.*.tools.*.parameters",
    "tools.*.tools.*.format.definition",
    "input.*.tools.*.parameters",
    "input.*.tools.*.format.definition",
    "input.*.tools.*.tools.*.parameters",
    "input.*.tools.*.tools.*.format.definition",
};

using Differ = bool (*)(const Json& a, const Json& b);

bool differ(const Json& a, const Json& b) {
  return !(a == b);
}

bool is_annotation(const JsonMember& member) {
  return (member.key == "description" || member.key == "title") && member.value.is_string();
}

bool differ_beside_annotations(const Json& a, const Json& b) {
  if (a.is_object() && b.is_object()) {
    const JsonObject& left = a.as_object();
    const JsonObject& right = b.as_object();
    return !std::equal(left.begin(), left.end(), right.begin(), right.end(),
                       [](const JsonMember& x, const JsonMember& y) {
                         return x.key == y.key && ((is_annotation(x) && is_annotation(y)) ||
                                                   !differ_beside_annotations(x.value, y.value));
                       });
  }
  if (a.is_array() && b.is_array()) {
    return !std::equal(
        a.as_array().begin(), a.as_array().end(), b.as_array().begin(), b.as_array().end(),
        [](const Json& x, const Json& y) { return !differ_beside_annotations(x, y); });
  }
  return differ(a, b);
}

// The path of the first place at the field where the two differ; empty if there is none.
std::string first_difference(const Json& a, const Json& b, std::string_view field, Differ differ,
                             const std::string& path = "") {
  if (field.empty()) {
    return differ(a, b) ? path : "";
  }
  const std::size_t dot = field.find('.');
  const std::string_view step = field.substr(0, dot);
  field = dot == std::string_view::npos ? std::string_view() : field.substr(dot + 1);
  if (step != "*") {
    const Json* left = a.find(step);
    const Json* right = b.find(step);
    const std::string inner = (path.empty() ? "" : path + ".") + std::string(step);
    return left == nullptr || right == nullptr
               ? ""
               : first_difference(*left, *right, field, differ, inner);
  }
  const bool are_arrays =
      a.is_array() && b.is_array() && a.as_array().size() == b.as_array().size();
  std::string found;
  for (std::size_t i = 0; are_arrays && found.empty() && i < a.as_array().size(); ++i) {
    found = first_difference(a.as_array()[i], b.as_array()[i], field, differ,
                             path + "[" + std::to_string(i) + "]");
  }
  return found;
}

// The field where two requests constrain the answer in different ways; empty if there is none.
std::string differing_field(const Json& a, const Json& b) {
  std::string found;
  for (const std::string_view field : kConstraintFields) {
    found = found.empty() ? first_difference(a, b, field, &differ) : found;
  }
  for (const std::string_view field : kToolFields) {
    found = found.empty() ? first_difference(a, b, field, &differ_beside_annotations) : found;
  }
  return found;
}

}  // namespace

// What differs when other characters take the place of the halves holds one.
std::optional<ApiError> check_constraint_surrogates(std::string_view text,
                                                    std::string_view member) {
  if (!has_lone_surrogate(text)) {
    return std::nullopt;
  }
  const Result<Json> first = parse_json(replace_lone_surrogates(text, "fffd"));
  const Result<Json> second = parse_json(replace_lone_surrogates(text, "fffe"));
  if (!first.ok() || !second.ok()) {
    return std::nullopt;  // refused for that
  }
  const Json* a = member.empty() ? &first.value() : first.value().find(member);
  const Json* b = member.empty() ? &second.value() : second.value().find(member);
  const std::string field = a == nullptr || b == nullptr ? "" : differing_field(*a, *b);
  if (field.empty()) {
    return std::nullopt;
  }
  return ApiError::invalid("invalid_schema", field,
                           "'" + field +
                               "' holds half of a surrogate pair (\\ud800 to \\udfff), which no "
                               "text has; write the whole pair");
}

}  // namespace plumb
