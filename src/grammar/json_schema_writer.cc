// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema_writer.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "grammar/string_automata.h"

namespace plumb {

namespace {

/// Characters up to which the automaton of a string counts them itself.
constexpr std::int64_t kMaxCountedChars = 512;
constexpr std::int64_t kChunk = 64;

}  // namespace

JsonSchemaWriter::JsonSchemaWriter(JsonSchemaTerms* terms)
    : terms_(terms),
      fixed_(terms),
      numbers_(terms),
      strings_(terms),
      fixed_evaluator_(terms, &fixed_),
      number_evaluator_(terms, &numbers_),
      string_evaluator_(terms, &strings_),
      arrays_(terms),
      objects_(terms, &strings_, &string_evaluator_),
      array_evaluator_(terms, &arrays_),
      object_evaluator_(terms, &objects_),
      text_(&terms->regexes(), terms->options().compact) {
  terms_->probe = [this](GoalId goal) { return is_surely_empty(goal); };
}

bool JsonSchemaWriter::is_surely_empty(GoalId goal) {
  return scalar(&fixed_evaluator_, &fixed_, goal) == 0 &&
         numbers_.surely_bottom(scalar(&number_evaluator_, &numbers_, goal)) &&
         strings_.surely_bottom(scalar(&string_evaluator_, &strings_, goal)) &&
         members(goal, false).empty() && members(goal, true).empty();
}

MemberSet JsonSchemaWriter::members(GoalId goal, bool of_objects) {
  return of_objects ? scalar(&object_evaluator_, &objects_, goal)
                    : scalar(&array_evaluator_, &arrays_, goal);
}

std::string JsonSchemaWriter::name(GoalId goal) {
  std::vector<std::string> pointers;
  for (const Literal literal : terms_->literals(goal)) {
    const LiteralTarget& target = terms_->target(literal);
    if (target.kind == LiteralTarget::Kind::kSchema) {
      pointers.push_back((is_negative(literal) ? "not " : "") +
                         terms_->document().pointer(target.schema));
    } else if (target.kind == LiteralTarget::Kind::kConstant) {
      pointers.push_back((is_negative(literal) ? "not " : "") +
                         to_text(*target.constant).substr(0, 64));
    } else if (literal == Literal::kFalse) {
      pointers.emplace_back("false");
    }
  }
  return pointers.empty() ? "value" : join(pointers, " and ");
}

DraftId JsonSchemaWriter::value(GoalId goal) {
  const auto [it, fresh] = values_.try_emplace(goal);
  if (fresh) {
    it->second = draft_.nonterminal("value");
    goals_[it->second] = goal;
    todo_.emplace_back(it->second, goal);
  }
  return it->second;
}

void JsonSchemaWriter::write_scalars(DraftId lhs, GoalId goal) {
  RegexSet& regexes = terms_->regexes();
  std::vector<RegexId> parts;
  const JsonFixedDomain::Value fixed = scalar(&fixed_evaluator_, &fixed_, goal);
  for (const auto& [bit, literal] :
       {std::pair<int, std::string_view>{JsonFixedDomain::kNull, "null"},
        {JsonFixedDomain::kTrue, "true"},
        {JsonFixedDomain::kFalse, "false"}}) {
    if ((fixed & bit) != 0) {
      parts.push_back(regexes.literal(literal));
    }
  }
  const NumberSetId numbers = scalar(&number_evaluator_, &numbers_, goal);
  if (terms_->numbers().has_short_member(numbers)) {
    parts.push_back(text_.number(terms_->numbers(), numbers));
  }
  const JsonStringSet strings = scalar(&string_evaluator_, &strings_, goal);
  if (lhs == raw_) {
    const RegexId text = raw(strings);
    if (text != regexes.none()) {
      parts.push_back(text);
    }
  } else if (strings.is_plain && std::max(strings.min, strings.max) > kMaxCountedChars) {
    write_long_string(lhs, strings);
  } else if (!strings_.surely_bottom(strings)) {
    parts.push_back(text_.string(strings));
  }
  if (!parts.empty() && terms_->charge(1)) {
    draft_.add_rule(lhs, {GrammarDraft::terminal(regexes.any_of(parts))});
  }
}

RegexId JsonSchemaWriter::raw(const JsonStringSet& strings) {
  RegexSet& regexes = terms_->regexes();
  const RegexId text = regexes.all_of(std::array{
      strings.regex, StringFinder(std::array{terms_->options().raw_end}).without(&regexes)});
  return strings_.is_none(text) ? regexes.none() : text;
}

void JsonSchemaWriter::write_long_string(DraftId lhs, const JsonStringSet& strings) {
  const auto chars = [this](std::int64_t min, std::int64_t max) {
    return GrammarDraft::terminal(text_.characters(min, max));
  };
  const GrammarDraft::Item quote = GrammarDraft::terminal(text_.quote());
  const DraftId chunk = draft_.nonterminal("characters");
  draft_.add_rule(chunk, {chars(kChunk, kChunk)});
  const std::int64_t whole = strings.min / kChunk;
  const std::int64_t rest = strings.min % kChunk;
  if (strings.max == kUnbounded) {
    draft_.add_rule(
        lhs, {quote, GrammarDraft::repeated(chunk, whole, whole), chars(rest, kUnbounded), quote});
    return;
  }
  const std::int64_t more = strings.max - strings.min;
  const std::int64_t chunks = more / kChunk;
  if (chunks > 0) {
    draft_.add_rule(lhs, {quote, GrammarDraft::repeated(chunk, whole, whole + chunks - 1),
                          chars(rest, rest + kChunk - 1), quote});
  }
  draft_.add_rule(lhs, {quote, GrammarDraft::repeated(chunk, whole + chunks, whole + chunks),
                        chars(rest, rest + more % kChunk), quote});
}

void JsonSchemaWriter::write(GoalId root, Cfg* cfg) {
  if (!terms_->options().raw_end.empty()) {
    raw_ = draft_.nonterminal("value");
    goals_[*raw_] = root;
    todo_.emplace_back(*raw_, root);
  }
  const DraftId start = raw_.has_value() ? *raw_ : value(root);
  while (!todo_.empty() && !terms_->failed()) {
    const auto [lhs, goal] = todo_.back();
    todo_.pop_back();
    if (!terms_->literals(goal).empty() && terms_->literals(goal).front() == Literal::kFalse) {
      continue;
    }
    write_scalars(lhs, goal);
    for (const MemberAlternative& alternative : members(goal, false)) {
      write_json_array(this, lhs, alternative.atoms);
    }
    for (const MemberAlternative& alternative : members(goal, true)) {
      write_json_object(this, lhs, alternative.atoms);
    }
  }
  if (terms_->failed()) {
    return;
  }
  if (draft_.is_productive(start)) {
    draft_.write(start, cfg);
    return;
  }
  const auto obstacle = goals_.find(draft_.obstacle(start));
  std::string message =
      (obstacle == goals_.end() || obstacle->second == root ? "#" : name(obstacle->second)) +
      ": no value satisfies the schema";
  if (terms_->empty_requirement() != GoalId::kAny) {
    message += "; nothing satisfies " + name(terms_->empty_requirement());
  }
  terms_->fail(Status{Code::kInvalidArgument, std::move(message)});
}

}  // namespace plumb
