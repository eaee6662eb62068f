// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema_members.h"

#include <algorithm>
#include <array>
#include <set>

#include "grammar/regex_parser.h"

namespace plumb {

namespace {

/// Alternatives of one set before it counts as an explosion.
constexpr std::size_t kMaxAlternatives = 1'000;

EvaluatedMembers united(EvaluatedMembers a, const EvaluatedMembers& b) {
  a.names.insert(a.names.end(), b.names.begin(), b.names.end());
  a.keys.insert(a.keys.end(), b.keys.begin(), b.keys.end());
  a.prefix = std::max(a.prefix, b.prefix);
  a.all_items = a.all_items || b.all_items;
  a.contained.insert(a.contained.end(), b.contained.begin(), b.contained.end());
  return a;
}

/// Adds conditions; without repetition where looking for it is cheap.
void add_atoms(const std::vector<MemberAtom>& from, std::vector<MemberAtom>* to) {
  constexpr std::size_t kMaxComparisons = 10'000;
  const bool look = from.size() * to->size() <= kMaxComparisons;
  for (const MemberAtom& atom : from) {
    if (!look || std::find(to->begin(), to->end(), atom) == to->end()) {
      to->push_back(atom);
    }
  }
}

bool is_top(const MemberAlternative& alternative) {
  return alternative.atoms.empty() && alternative.evaluated == EvaluatedMembers{};
}

}  // namespace

MemberSet JsonMemberDomain::meet(const Value& a, const Value& b) {
  if (a.size() == 1 && is_top(a[0])) {
    return b;
  }
  if (b.size() == 1 && is_top(b[0])) {
    return a;
  }
  Value result;
  for (const MemberAlternative& left : a) {
    for (const MemberAlternative& right : b) {
      MemberAlternative both{left.atoms, united(left.evaluated, right.evaluated)};
      add_atoms(right.atoms, &both.atoms);
      if (!terms_->charge(1 + static_cast<std::int64_t>(both.atoms.size()) / 8)) {
        return bottom();
      }
      if (!contradicts(both.atoms)) {
        result.push_back(std::move(both));
      }
    }
    if (result.size() > kMaxAlternatives) {
      terms_->fail(Status{Code::kResourceExhausted,
                          "schema: more than " + std::to_string(kMaxAlternatives) +
                              " alternatives in one place; simplify oneOf, anyOf and not"});
      return bottom();
    }
  }
  return result;
}

MemberSet JsonMemberDomain::join(Value a, const Value& b) {
  for (const MemberAlternative& alternative : b) {
    if (std::find(a.begin(), a.end(), alternative) == a.end()) {
      a.push_back(alternative);
    }
  }
  if (std::any_of(a.begin(), a.end(), is_top)) {
    // Without a record of evaluation in any alternative, "anything" contains the others.
    const bool plain = std::all_of(a.begin(), a.end(), [](const MemberAlternative& alternative) {
      return alternative.evaluated == EvaluatedMembers{};
    });
    if (plain) {
      return top();
    }
  }
  if (!terms_->charge(static_cast<std::int64_t>(a.size()) / 16)) {
    return bottom();
  }
  return a;
}

MemberSet JsonMemberDomain::size(bool is_min, std::int64_t count, bool positive) {
  MemberAtom atom{
      .kind = is_min == positive ? Kind::kMinSize : Kind::kMaxSize, .name = {}, .count = count};
  if (!positive) {
    atom.count += is_min ? -1 : 1;
  }
  if (atom.kind == Kind::kMinSize && atom.count <= 0) {
    return top();
  }
  return atom.count < 0 ? bottom() : one(std::move(atom));
}

void JsonMemberDomain::drop_evaluated(Value* value) {
  for (MemberAlternative& alternative : *value) {
    alternative.evaluated = {};
  }
}

MemberAtom JsonObjectDomain::named(Kind kind, const std::string& name, Literal literal) {
  return {.kind = kind, .is_named = true, .name = name, .literal = literal};
}

MemberAtom JsonObjectDomain::keyed(Kind kind, RegexId keys, Literal literal) {
  return {.kind = kind, .name = {}, .keys = keys, .literal = literal};
}

bool JsonObjectDomain::covers(const MemberAtom& atom, std::string_view name) {
  if (!terms().poll() || (atom.kind != Kind::kEvery && atom.kind != Kind::kSome)) {
    return false;
  }
  if (atom.is_named) {
    return atom.name == name;
  }
  RegexId rest = atom.keys;
  for (const char c : name) {
    rest = terms().regexes().derivative(rest, static_cast<std::uint8_t>(c));
  }
  return terms().regexes().is_nullable(rest);
}

RegexId JsonObjectDomain::other_keys(const std::vector<std::string>& names,
                                     const std::vector<RegexId>& keys) {
  RegexSet& regexes = terms().regexes();
  std::vector<RegexId> taken = keys;
  for (const std::string& name : names) {
    taken.push_back(regexes.literal(name));
  }
  return strings_->without(strings_->top().regex, regexes.any_of(taken));
}

std::vector<Literal> JsonObjectDomain::NamedConditions::on(const std::string& name) const {
  std::vector<Literal> literals;
  if (const auto own = by_name_.find(name); own != by_name_.end()) {
    literals = own->second;
  }
  for (const MemberAtom* atom : by_keys_) {
    if (domain_->covers(*atom, name)) {
      literals.push_back(atom->literal);
    }
  }
  return literals;
}

JsonObjectDomain::NamedConditions::NamedConditions(JsonObjectDomain* domain,
                                                   std::span<const MemberAtom> atoms)
    : domain_(domain) {
  for (const MemberAtom& atom : atoms) {
    if (atom.is_named) {
      by_name_[atom.name].push_back(atom.literal);
    } else if (atom.kind == Kind::kEvery) {
      by_keys_.push_back(&atom);
    }
  }
}

bool JsonObjectDomain::contradicts(const std::vector<MemberAtom>& atoms) {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
  std::set<std::string> required;
  for (const MemberAtom& atom : atoms) {
    if (atom.kind == Kind::kMinSize) {
      min = std::max(min, atom.count);
    } else if (atom.kind == Kind::kMaxSize) {
      max = std::min(max, atom.count);
    } else if (atom.kind == Kind::kSome && atom.is_named) {
      required.insert(atom.name);
    }
  }
  if (std::max(min, static_cast<std::int64_t>(required.size())) > max) {
    return true;
  }
  const NamedConditions conditions(this, atoms);
  for (const std::string& name : required) {
    const GoalId goal = terms().goal(conditions.on(name));
    if (!terms().charge(0) || terms().surely_empty(goal)) {
      terms().note_empty_requirement(goal);
      return true;
    }
  }
  return false;
}

MemberSet JsonObjectDomain::every(MemberAtom atom, bool positive, bool track) {
  if (!positive) {
    atom.kind = Kind::kSome;
    atom.literal = negated(atom.literal);
    return atom.literal == Literal::kFalse ? bottom() : one(std::move(atom));
  }
  MemberAlternative result;
  if (track) {
    result.evaluated.keys.push_back(atom.keys);
  }
  if (atom.literal != Literal::kTrue) {
    result.atoms.push_back(std::move(atom));
  }
  return {std::move(result)};
}

MemberSet JsonObjectDomain::presence(const std::string& name, bool present) {
  return one(present ? named(Kind::kSome, name, Literal::kTrue)
                     : named(Kind::kEvery, name, Literal::kFalse));
}

MemberSet JsonObjectDomain::constant(const Json& json, bool positive) {
  if (!json.is_object()) {
    return positive ? bottom() : top();
  }
  MemberAlternative exact;
  Value other;
  std::vector<std::string> names;
  for (const JsonMember& member : json.as_object()) {
    names.push_back(member.key);
    const Literal equal = terms().constant(member.value);
    if (positive) {
      exact.atoms.push_back(named(Kind::kSome, member.key, equal));
    } else {
      other = join(std::move(other), presence(member.key, false));
      other = join(std::move(other), one(named(Kind::kSome, member.key, negated(equal))));
    }
  }
  const RegexId rest = other_keys(names, {});
  if (positive) {
    exact.atoms.push_back(keyed(Kind::kEvery, rest, Literal::kFalse));
    return {std::move(exact)};
  }
  return join(std::move(other), one(keyed(Kind::kSome, rest, Literal::kTrue)));
}

MemberSet JsonObjectDomain::properties(const SchemaPlace& place, const JsonObject& map,
                                       bool positive, bool track) {
  MemberAlternative all;
  Value other;
  for (const JsonMember& member : map) {
    const MemberAtom atom = named(Kind::kEvery, member.key, sub(place, member.value));
    if (!positive) {
      other = join(std::move(other), every(atom, false, false));
      continue;
    }
    all.atoms.push_back(atom);
    if (track) {
      all.evaluated.names.push_back(member.key);
    }
  }
  return positive ? Value{std::move(all)} : other;
}

RegexId JsonObjectDomain::pattern(const SchemaPlace& place, const std::string& pattern) {
  RegexParseOptions options;
  options.anchored = false;
  options.max_expressions = terms().budget().limits().max_expressions;
  options.is_cancelled = terms().budget().is_cancelled();
  const Result<RegexId> regex = parse_regex(pattern, options, &terms().regexes());
  if (!regex.ok()) {
    terms().fail(regex.status().with(terms().document().pointer(place.id) + "/patternProperties" +
                                     pointer_step(pattern)));
    return terms().regexes().none();
  }
  return regex.value();
}

MemberSet JsonObjectDomain::pattern_properties(const SchemaPlace& place, const JsonObject& map,
                                               bool positive, bool track) {
  Value value = positive ? top() : bottom();
  for (const JsonMember& member : map) {
    const RegexId keys = pattern(place, member.key);
    Value next = every(keyed(Kind::kEvery, keys, sub(place, member.value)), positive, track);
    value = positive ? meet(value, next) : join(std::move(value), next);
  }
  return value;
}

RegexId JsonObjectDomain::matching(const JsonObject& map, const SchemaPlace& place) {
  std::vector<RegexId> keys;
  for (const JsonMember& member : map) {
    keys.push_back(pattern(place, member.key));
  }
  return terms().regexes().any_of(keys);
}

MemberSet JsonObjectDomain::additional_properties(const SchemaPlace& place, const Json& schema,
                                                  bool positive, bool track) {
  std::vector<std::string> names;
  std::vector<RegexId> keys;
  if (const Json* const properties = place.find("properties")) {
    for (const JsonMember& member : properties->as_object()) {
      names.push_back(member.key);
    }
  }
  if (const Json* const patterns = place.find("patternProperties")) {
    keys.push_back(matching(patterns->as_object(), place));
  }
  return every(keyed(Kind::kEvery, other_keys(names, keys), sub(place, schema)), positive, track);
}

MemberSet JsonObjectDomain::keyword(const SchemaPlace& place, const JsonMember& member,
                                    bool positive, bool track) {
  const std::string& key = member.key;
  track = track && positive;
  if (key == "properties") {
    return properties(place, member.value.as_object(), positive, track);
  }
  if (key == "patternProperties") {
    return pattern_properties(place, member.value.as_object(), positive, track);
  }
  if (key == "additionalProperties") {
    return additional_properties(place, member.value, positive, track);
  }
  if (key == "propertyNames") {
    const JsonStringSet names = string_evaluator_->eval(sub(place, member.value));
    if (names.is_plain && names.min == 0 && names.max == kUnbounded) {
      return positive ? top() : bottom();
    }
    return every(keyed(Kind::kEvery, other_keys({}, {names.regex}), Literal::kFalse), positive,
                 false);
  }
  std::int64_t count = 0;
  if ((key == "minProperties" || key == "maxProperties") && member.value.to_int64(&count)) {
    return size(key == "minProperties", count, positive);
  }
  if (key == "required") {
    return all_present(member.value.as_array(), positive);
  }
  return positive ? top() : bottom();
}

MemberSet JsonObjectDomain::all_present(const JsonArray& names, bool positive) {
  MemberAlternative all;
  Value other;
  for (const Json& name : names) {
    if (positive) {
      all.atoms.push_back(named(Kind::kSome, name.as_string(), Literal::kTrue));
    } else {
      other = join(std::move(other), presence(name.as_string(), false));
    }
  }
  return positive ? Value{std::move(all)} : other;
}

MemberSet JsonObjectDomain::close(const SchemaPlace& /*place*/, const Value& others, Literal rest,
                                  bool positive, bool track) {
  Value result;
  for (const MemberAlternative& alternative : others) {
    const EvaluatedMembers& evaluated = alternative.evaluated;
    const RegexId keys = other_keys(evaluated.names, evaluated.keys);
    const Value closing = every(keyed(Kind::kEvery, keys, rest), positive, track && positive);
    result = join(std::move(result), meet({alternative}, closing));
  }
  if (!track) {
    drop_evaluated(&result);
  }
  return result;
}

}  // namespace plumb
