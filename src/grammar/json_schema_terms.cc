// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema_terms.h"

#include <algorithm>

namespace plumb {

Literal negated(Literal literal) {
  return static_cast<Literal>(static_cast<std::uint32_t>(literal) ^ 1U);
}

JsonSchemaTerms::JsonSchemaTerms(JsonSchemaDocument* document, RegexSet* regexes,
                                 const JsonSchemaOptions& options, CompileBudget* budget)
    : document_(document), regexes_(regexes), numbers_(budget), options_(options), budget_(budget) {
  targets_.emplace_back();
  goals_.emplace_back();
  goal_ids_[{}] = GoalId::kAny;
  scopes_.emplace_back();
  scope_ids_[{}] = DynamicScopeId::kEmpty;
}

Literal JsonSchemaTerms::intern(LiteralTarget target) {
  const auto [it, fresh] = literal_ids_.try_emplace(
      target, static_cast<Literal>(static_cast<std::uint32_t>(targets_.size() * 2)));
  if (fresh) {
    targets_.push_back(std::move(target));
    charge(1);
  }
  return it->second;
}

const LiteralTarget& JsonSchemaTerms::target(Literal literal) const {
  return targets_[static_cast<std::size_t>(literal) / 2];
}

DynamicScopeId JsonSchemaTerms::enter(SchemaId schema, DynamicScopeId scope) {
  const auto& anchors = document_->dynamic_anchors(document_->resource(schema));
  if (anchors.empty()) {
    return scope;
  }
  std::map<std::string, SchemaId> names = scopes_[static_cast<std::size_t>(scope)];
  names.insert(anchors.begin(), anchors.end());
  const auto [it, fresh] =
      scope_ids_.try_emplace(names, static_cast<DynamicScopeId>(scopes_.size()));
  if (fresh) {
    scopes_.push_back(std::move(names));
  }
  return it->second;
}

Literal JsonSchemaTerms::schema(SchemaId schema, DynamicScopeId scope) {
  const Json& json = document_->json(schema);
  if (json.is_bool()) {
    return json.as_bool() ? Literal::kTrue : Literal::kFalse;
  }
  if (json.as_object().empty()) {
    return Literal::kTrue;
  }
  LiteralTarget target;
  target.kind = LiteralTarget::Kind::kSchema;
  target.schema = schema;
  target.scope = enter(schema, scope);
  return intern(std::move(target));
}

Literal JsonSchemaTerms::constant(const Json& value) {
  LiteralTarget target;
  target.kind = LiteralTarget::Kind::kConstant;
  target.constant = &value;
  return intern(std::move(target));
}

Literal JsonSchemaTerms::any_of(std::vector<Literal> options) {
  std::sort(options.begin(), options.end());
  options.erase(std::unique(options.begin(), options.end()), options.end());
  std::erase(options, Literal::kFalse);
  if (std::find(options.begin(), options.end(), Literal::kTrue) != options.end()) {
    return Literal::kTrue;
  }
  if (options.size() <= 1) {
    return options.empty() ? Literal::kFalse : options.front();
  }
  LiteralTarget target;
  target.kind = LiteralTarget::Kind::kAnyOf;
  target.options = std::move(options);
  return intern(std::move(target));
}

Literal JsonSchemaTerms::reference(SchemaId from, DynamicScopeId scope, std::string_view reference,
                                   bool dynamic) {
  const Result<SchemaTarget> found = document_->resolve(from, reference);
  if (!found.ok()) {
    fail(found.status());
    return Literal::kFalse;
  }
  SchemaId schema = found.value().schema;
  if (dynamic && !found.value().dynamic_anchor.empty()) {
    const auto& names = scopes_[static_cast<std::size_t>(scope)];
    const auto outer = names.find(found.value().dynamic_anchor);
    schema = outer == names.end() ? schema : outer->second;
  }
  return this->schema(schema, scope);
}

GoalId JsonSchemaTerms::goal(std::vector<Literal> literals) {
  std::erase(literals, Literal::kTrue);
  std::sort(literals.begin(), literals.end());
  literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
  // A literal and its opposite are neighbours.
  for (std::size_t i = 0; i + 1 < literals.size(); ++i) {
    if (literals[i + 1] == negated(literals[i])) {
      literals = {Literal::kFalse};
    }
  }
  if (!literals.empty() && literals.front() == Literal::kFalse) {
    literals.resize(1);
  }
  const auto [it, fresh] = goal_ids_.try_emplace(literals, static_cast<GoalId>(goals_.size()));
  if (fresh) {
    charge(1);
    goals_.push_back(std::move(literals));
  }
  return it->second;
}

bool JsonSchemaTerms::surely_empty(GoalId goal) {
  constexpr int kMaxProbeDepth = 8;
  if (goal == GoalId::kAny || probe_depth_ >= kMaxProbeDepth) {
    return false;
  }
  if (literals(goal).front() == Literal::kFalse) {
    return true;
  }
  const auto [it, fresh] = surely_empty_.try_emplace(goal, false);
  if (fresh) {
    ++probe_depth_;
    const bool is_empty = probe(goal);
    --probe_depth_;
    it->second = is_empty && !probe_in_vain_ && !failed();
    probe_in_vain_ = false;
  }
  return it->second;
}

void JsonSchemaTerms::note_empty_requirement(GoalId goal) {
  if (empty_requirement_ == GoalId::kAny) {
    empty_requirement_ = goal;
  }
}

bool JsonSchemaTerms::give_up_probe() {
  probe_in_vain_ = probe_in_vain_ || probe_depth_ > 0;
  return probe_in_vain_;
}

void JsonSchemaTerms::fail(Status status) {
  if (status_.ok()) {
    status_ = std::move(status);
  }
}

void JsonSchemaTerms::unsupported(SchemaId schema, std::string_view keyword, std::string_view why) {
  if (options_.lenient) {
    document_->ignore(schema, keyword);
  } else {
    fail(document_->error(Code::kUnsupported, schema, keyword, why));
  }
}

bool JsonSchemaTerms::charge(std::int64_t units) {
  if (failed()) {
    return false;
  }
  work_ += units;
  const std::int64_t limit = budget_->limits().max_rules;
  if (work_ > limit) {
    fail(Status{
        Code::kResourceExhausted,
        "schema: too complex, more than " + std::to_string(limit) + " units of work; simplify it"});
  }
  if (Status status = budget_->check_expressions(regexes_->size()); !status.ok()) {
    fail(std::move(status));
  }
  return poll();
}

bool JsonSchemaTerms::poll() {
  if (Status status = failed() ? Status() : budget_->poll(); !status.ok()) {
    fail(std::move(status));
  }
  return !failed();
}

}  // namespace plumb
