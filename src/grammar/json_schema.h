// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"

namespace plumb {

struct JsonSchemaOptions {
  /// OpenAI's rule: each object schema says "additionalProperties": false and requires every
  /// property.
  bool strict = false;
  /// Drop what cannot be enforced, and list it, instead of refusing the schema.
  bool lenient = false;
  /// Properties in any order, where an object has at most 8; else in the schema's order.
  bool any_order = false;
  /// No white space between tokens; else up to two characters in each gap.
  bool compact = false;
  /// Not empty: a string that is the whole value is written as it is, without quotes and escapes,
  /// and does not contain this text.
  std::string raw_end{};
  std::int64_t max_schema_bytes = 1 << 20;
  int max_depth = 64;  ///< of nesting in the schema's text
};

/// What a schema compiles to.
struct JsonSchemaGrammar {
  Cfg cfg;
  /// The keywords that `lenient` dropped, each as "KEYWORD at JSON-POINTER".
  std::vector<std::string> ignored;
};

/// The JSON texts that a JSON Schema (draft 2020-12) allows, as a grammar.
///
/// Each text is a valid instance; not every valid instance has a text. Members appear in the order
/// of the schema, before members that it does not name. Numbers are written without an exponent and
/// without redundant zeros. `format` is asserted. docs/reference/json_schema.md lists the keywords.
/// Errors  kInvalidArgument: malformed, or no instance is valid; kUnsupported: a keyword or a
///         combination that cannot be enforced; kResourceExhausted, kDeadlineExceeded: the
///         budget is used up. Those about a keyword name it and its JSON pointer.
Result<JsonSchemaGrammar> compile_json_schema(std::string_view schema,
                                              const JsonSchemaOptions& options,
                                              CompileBudget* budget);

}  // namespace plumb
