// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar_draft.h"
#include "grammar/json_schema_evaluator.h"
#include "grammar/json_schema_members.h"
#include "grammar/json_schema_scalars.h"
#include "grammar/json_schema_terms.h"
#include "grammar/json_text.h"

namespace plumb {

/// Writes the grammar of each goal: one nonterminal for it, whose rules are its scalar values, its
/// arrays and its objects. Goals of members and items follow in turn, each once, so that recursive
/// schemas end.
///
/// Thread  one at a time.
class JsonSchemaWriter {
 public:
  explicit JsonSchemaWriter(JsonSchemaTerms* terms);

  /// Leaves an error in the terms if no value satisfies the goal.
  void write(GoalId root, Cfg* cfg);

  JsonSchemaTerms& terms() { return *terms_; }

  GrammarDraft& draft() { return draft_; }

  const JsonText& text() const { return text_; }

  JsonObjectDomain& objects() { return objects_; }

  JsonStringDomain& strings() { return strings_; }

  /// The nonterminal of a goal; its rules follow later.
  DraftId value(GoalId goal);

 private:
  /// The strings of the whole value as JsonSchemaOptions::raw_end wants them; none() if there is no
  /// such string.
  RegexId raw(const JsonStringSet& strings);
  bool is_surely_empty(GoalId goal);
  void write_scalars(DraftId lhs, GoalId goal);
  /// A string whose length would make its automaton long: most of its characters in chunks that the
  /// grammar counts.
  void write_long_string(DraftId lhs, const JsonStringSet& strings);
  MemberSet members(GoalId goal, bool of_objects);
  std::string name(GoalId goal);

  template <class Domain>
  typename Domain::Value scalar(JsonSchemaEvaluator<Domain>* evaluator, Domain* domain,
                                GoalId goal) {
    typename Domain::Value value = domain->top();
    for (const Literal literal : terms_->literals(goal)) {
      value = domain->meet(value, evaluator->eval(literal));
    }
    return value;
  }

  JsonSchemaTerms* terms_;
  JsonFixedDomain fixed_;
  JsonNumberDomain numbers_;
  JsonStringDomain strings_;
  JsonSchemaEvaluator<JsonFixedDomain> fixed_evaluator_;
  JsonSchemaEvaluator<JsonNumberDomain> number_evaluator_;
  JsonSchemaEvaluator<JsonStringDomain> string_evaluator_;
  JsonArrayDomain arrays_;
  JsonObjectDomain objects_;
  JsonSchemaEvaluator<JsonArrayDomain> array_evaluator_;
  JsonSchemaEvaluator<JsonObjectDomain> object_evaluator_;
  GrammarDraft draft_;
  JsonText text_;
  std::map<GoalId, DraftId> values_;
  std::map<DraftId, GoalId> goals_;
  std::vector<std::pair<DraftId, GoalId>> todo_;
  std::optional<DraftId> raw_;  // the whole value, if its strings are to be written as they are
};

/// Adds rules to lhs for the objects that satisfy the conditions.
void write_json_object(JsonSchemaWriter* writer, DraftId lhs, std::span<const MemberAtom> atoms);
/// Adds rules to lhs for the arrays that satisfy the conditions.
void write_json_array(JsonSchemaWriter* writer, DraftId lhs, std::span<const MemberAtom> atoms);

}  // namespace plumb
