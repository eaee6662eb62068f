// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "grammar/compile_budget.h"
#include "grammar/json_number_set.h"
#include "grammar/json_schema.h"
#include "grammar/json_schema_document.h"
#include "grammar/regex_set.h"

namespace plumb {

/// A requirement on one value or its opposite: "satisfies this schema", "equals this constant".
enum class Literal : std::uint32_t { kTrue = 0, kFalse = 1 };

/// A set of literals that one value must satisfy together; the empty set is any value.
enum class GoalId : std::uint32_t { kAny = 0 };

/// $dynamicAnchor names and the schemas that they mean on the path taken so far.
enum class DynamicScopeId : std::uint32_t { kEmpty = 0 };

Literal negated(Literal literal);

inline bool is_negative(Literal literal) {
  return (static_cast<std::uint32_t>(literal) & 1U) != 0;
}

/// What a literal is about.
struct LiteralTarget {
  enum class Kind : unsigned char { kTrue, kSchema, kConstant, kAnyOf };
  Kind kind = Kind::kTrue;
  SchemaId schema{};
  DynamicScopeId scope{};
  const Json* constant = nullptr;
  std::vector<Literal> options;

  bool operator<(const LiteralTarget& other) const {
    return std::tie(kind, schema, scope, constant, options) <
           std::tie(other.kind, other.schema, other.scope, other.constant, other.options);
  }
};

/// What the parts of one compilation share: the schema, the languages made from it, and the first
/// error, after which all work is in vain and loops end.
///
/// Thread  one at a time.
class JsonSchemaTerms {
 public:
  JsonSchemaTerms(JsonSchemaDocument* document, RegexSet* regexes, const JsonSchemaOptions& options,
                  CompileBudget* budget);

  JsonSchemaDocument& document() { return *document_; }

  RegexSet& regexes() { return *regexes_; }

  JsonNumberSets& numbers() { return numbers_; }

  const JsonSchemaOptions& options() const { return options_; }

  /// Entering a schema adds the dynamic anchors of its resource to the scope, unless outer ones
  /// have the names.
  Literal schema(SchemaId schema, DynamicScopeId scope);
  Literal constant(const Json& value);
  Literal any_of(std::vector<Literal> options);
  const LiteralTarget& target(Literal literal) const;
  /// The schema that a $ref or $dynamicRef of `from` means; kFalse after an error.
  Literal reference(SchemaId from, DynamicScopeId scope, std::string_view reference, bool dynamic);

  GoalId goal(std::vector<Literal> literals);

  std::span<const Literal> literals(GoalId goal) const {
    return goals_[static_cast<std::size_t>(goal)];
  }

  /// Keeps the first error.
  void fail(Status status);
  /// Fails with a message about a keyword of a schema, or drops the keyword when lenient.
  void unsupported(SchemaId schema, std::string_view keyword, std::string_view why);

  bool failed() const { return !status_.ok(); }

  const Status& status() const { return status_; }

  /// Counts work against the budget; false once failed.
  bool charge(std::int64_t units);
  /// Asks whether to go on, without counting work; false once failed.
  bool poll();

  CompileBudget& budget() { return *budget_; }

  /// Whether no value can satisfy the literals together, as far as is known while other literals
  /// are being computed. `probe` looks at the literals; it may be given up on the way.
  bool surely_empty(GoalId goal);
  std::function<bool(GoalId)> probe;

  /// The first goal of a required member or item that turned out to be empty; kAny if none did.
  GoalId empty_requirement() const { return empty_requirement_; }

  void note_empty_requirement(GoalId goal);
  /// Ends the running probe without an answer; false if none runs.
  bool give_up_probe();

  bool probe_in_vain() const { return probe_in_vain_; }

 private:
  Literal intern(LiteralTarget target);
  DynamicScopeId enter(SchemaId schema, DynamicScopeId scope);

  JsonSchemaDocument* document_;
  RegexSet* regexes_;
  JsonNumberSets numbers_;
  const JsonSchemaOptions& options_;
  CompileBudget* budget_;
  Status status_;
  std::int64_t work_ = 0;
  GoalId empty_requirement_ = GoalId::kAny;
  int probe_depth_ = 0;
  bool probe_in_vain_ = false;
  std::map<GoalId, bool> surely_empty_;
  std::vector<LiteralTarget> targets_;
  std::map<LiteralTarget, Literal> literal_ids_;
  std::vector<std::vector<Literal>> goals_;
  std::map<std::vector<Literal>, GoalId> goal_ids_;
  std::vector<std::map<std::string, SchemaId>> scopes_;
  std::map<std::map<std::string, SchemaId>, DynamicScopeId> scope_ids_;
};

/// A place in the schema that is being read.
struct SchemaPlace {
  SchemaId id{};
  DynamicScopeId scope{};
  const JsonObject* object = nullptr;

  const Json* find(std::string_view keyword) const { return object->find(keyword); }
};

}  // namespace plumb
