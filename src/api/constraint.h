// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_reader.h"

namespace plumb {

/// What the text of an answer must be, as the request says it; the front end compiles it.
struct ConstraintSpec {
  enum class Kind : unsigned char {
    kNone,
    kJsonObject,     ///< any JSON object
    kJsonSchema,     ///< a JSON value that the schema in `text` allows
    kRegex,          ///< a match of `text`, from its begin to its end
    kGrammar,        ///< what the EBNF in `text` derives
    kChoice,         ///< one of `choices`
    kStructuralTag,  ///< what the structural tag in `text` allows
  };

  /// Where the request has the schema of that name in a structural tag.
  struct NamedSchema {
    std::string name;
    std::string param;
  };

  Kind kind = Kind::kNone;
  std::string param;  ///< path of the field, for errors
  std::string text;
  std::vector<std::string> choices;
  bool strict = false;     ///< hold the schema to OpenAI's rules for "strict": true
  bool lenient = false;    ///< drop what of the schema cannot be enforced, and name it
  bool any_order = false;  ///< members of objects in any order
  bool compact = false;    ///< JSON without white space, whatever the server does by itself
  std::vector<NamedSchema> schemas{};  ///< of tools, for errors

  bool is_none() const { return kind == Kind::kNone; }

  bool is_json() const { return kind == Kind::kJsonObject || kind == Kind::kJsonSchema; }
};

/// Reads the one constraint of a request from any of its names: response_format, guided_json,
/// guided_regex, guided_choice, guided_grammar, structured_outputs, regex, ebnf, grammar,
/// json_schema, structural_tag. Two of them are an error that names both. How JSON is written may
/// be said beside any of these: structured_outputs.lenient, any_order, disable_any_whitespace and
/// whitespace_pattern, guided_whitespace_pattern.
ConstraintSpec read_constraint(FieldReader& fields);

/// The schema in {"type":"json_schema","schema"}, the form of Anthropic's output formats; `name` is
/// the field that holds it.
ConstraintSpec read_output_format(FieldReader& fields, const char* name);
/// The schema that a field of another dialect holds.
ConstraintSpec read_schema(FieldReader& fields, std::string_view name);

}  // namespace plumb
