// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_schema_scalars.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "grammar/dfa.h"
#include "grammar/regex_parser.h"
#include "grammar/string_automata.h"

namespace plumb {

namespace {

/// States of an automaton that is built only to see whether its language is empty.
constexpr std::int64_t kMaxProbeStates = 50'000;
constexpr std::size_t kFewTexts = 64;

}  // namespace

bool names_json_type(const Json& names, std::string_view type) {
  if (names.is_string()) {
    return names.as_string() == type;
  }
  const JsonArray& list = names.as_array();
  return std::any_of(list.begin(), list.end(),
                     [&](const Json& name) { return name.as_string() == type; });
}

JsonFixedDomain::Value JsonFixedDomain::type(const Json& names, bool positive) {
  const auto allowed = static_cast<Value>((names_json_type(names, "null") ? kNull : 0) |
                                          (names_json_type(names, "boolean") ? kTrue | kFalse : 0));
  return positive ? allowed : static_cast<Value>(kAll & ~allowed);
}

JsonFixedDomain::Value JsonFixedDomain::constant(const Json& json, bool positive) {
  Value allowed = 0;
  if (json.is_null()) {
    allowed = kNull;
  } else if (json.is_bool()) {
    allowed = json.as_bool() ? kTrue : kFalse;
  }
  return positive ? allowed : static_cast<Value>(kAll & ~allowed);
}

JsonFixedDomain::Value JsonFixedDomain::one_of(std::span<const Json> values, bool positive) {
  Value allowed = 0;
  for (const Json& value : values) {
    allowed = join(allowed, constant(value, true));
  }
  return positive ? allowed : static_cast<Value>(kAll & ~allowed);
}

JsonNumberDomain::Value JsonNumberDomain::checked(Value value) {
  if (!sets().status().ok()) {
    terms_->fail(sets().status());
  }
  return value;
}

JsonNumberDomain::Value JsonNumberDomain::type(const Json& names, bool positive) {
  Value allowed = bottom();
  if (names_json_type(names, "number")) {
    allowed = sets().all();
  } else if (names_json_type(names, "integer")) {
    allowed = sets().integers();
  }
  return signed_value(allowed, positive);
}

bool JsonNumberDomain::read(const Json& json, Decimal* out) {
  Result<Decimal> value = parse_decimal(to_text(json));
  if (!value.ok()) {
    terms_->fail(value.status());
    return false;
  }
  *out = std::move(value).value();
  return true;
}

JsonNumberDomain::Value JsonNumberDomain::one_of(std::span<const Json> values, bool positive) {
  std::vector<Decimal> numbers;
  for (const Json& value : values) {
    if (value.is_number() && !read(value, &numbers.emplace_back())) {
      return bottom();
    }
  }
  return signed_value(numbers.empty() ? bottom() : sets().one_of(numbers), positive);
}

JsonNumberDomain::Value JsonNumberDomain::keyword(const SchemaPlace& place,
                                                  const JsonMember& member, bool positive,
                                                  bool /*track*/) {
  constexpr std::array<std::string_view, 5> kMine = {"minimum", "maximum", "exclusiveMinimum",
                                                     "exclusiveMaximum", "multipleOf"};
  Decimal bound;
  if (std::find(kMine.begin(), kMine.end(), member.key) == kMine.end()) {
    return signed_value(top(), positive);
  }
  if (!read(member.value, &bound)) {
    return bottom();
  }
  Value allowed{};
  if (member.key == "minimum") {
    allowed = sets().at_least(bound);
  } else if (member.key == "maximum") {
    allowed = sets().at_most(bound);
  } else if (member.key == "exclusiveMinimum") {
    allowed = sets().other(sets().at_most(bound));
  } else if (member.key == "exclusiveMaximum") {
    allowed = sets().other(sets().at_least(bound));
  } else {
    const Result<NumberSetId> multiples = sets().multiples_of(bound);
    if (!multiples.ok()) {
      terms_->unsupported(place.id, member.key, multiples.status().message());
      return signed_value(top(), positive);
    }
    allowed = multiples.value();
  }
  return signed_value(allowed, positive);
}

JsonStringSet JsonStringDomain::plain(std::int64_t min, std::int64_t max) {
  if (max != kUnbounded && max < min) {
    return bottom();
  }
  const RegexId any = regexes().other_char({});
  return {regexes().repeat(any, min, max), true, min, max};
}

JsonStringSet JsonStringDomain::meet(const Value& a, const Value& b) {
  const bool a_is_all = a.is_plain && a.min == 0 && a.max == kUnbounded;
  const bool b_is_all = b.is_plain && b.min == 0 && b.max == kUnbounded;
  if (a_is_all || b_is_all) {
    return a_is_all ? b : a;
  }
  if (a.is_plain && b.is_plain) {
    const std::int64_t max = a.max == kUnbounded   ? b.max
                             : b.max == kUnbounded ? a.max
                                                   : std::min(a.max, b.max);
    return plain(std::max(a.min, b.min), max);
  }
  return {.regex = regexes().all_of(std::array{a.regex, b.regex})};
}

JsonStringSet JsonStringDomain::join(const Value& a, const Value& b) {
  if (a.regex == b.regex || b.regex == regexes().none()) {
    return a;
  }
  if (a.regex == regexes().none()) {
    return b;
  }
  for (const Value* one : {&a, &b}) {
    if (one->is_plain && one->min == 0 && one->max == kUnbounded) {
      return *one;
    }
  }
  return {.regex = regexes().any_of(std::array{a.regex, b.regex})};
}

bool JsonStringDomain::is_none(RegexId regex) {
  if (regex == regexes().none() || regexes().is_nullable(regex)) {
    return regex == regexes().none();
  }
  const auto [it, fresh] = is_none_.try_emplace(regex, false);
  if (fresh && terms_->charge(1)) {
    // Its states are gone afterwards, so they count as work, not as a part of the grammar.
    CompileBudget::Limits limits = terms_->budget().limits();
    limits.max_states = std::min(limits.max_states, kMaxProbeStates);
    CompileBudget budget(limits, terms_->budget().is_cancelled());
    const Result<Dfa> dfa = Dfa::build(regex, &regexes(), &budget);
    if (!dfa.ok()) {
      terms_->fail(dfa.status());
      return true;
    }
    terms_->charge(dfa.value().num_states() / 16);
    it->second = dfa.value().start() == Dfa::kDead;
  }
  return it->second;
}

RegexId JsonStringDomain::without(RegexId from, RegexId what) {
  return regexes().all_of(std::array{from, regexes().complement(what)});
}

JsonStringSet JsonStringDomain::signed_value(Value value, bool positive) {
  if (positive) {
    return value;
  }
  if (value.regex == regexes().none()) {
    return top();
  }
  if (value.is_plain) {
    if (value.max == kUnbounded) {
      return value.min == 0 ? bottom() : plain(0, value.min - 1);
    }
    if (value.min == 0) {
      return plain(value.max + 1, kUnbounded);
    }
  }
  return {.regex = without(top().regex, value.regex)};
}

JsonStringSet JsonStringDomain::type(const Json& names, bool positive) {
  return names_json_type(names, "string") == positive ? top() : bottom();
}

JsonStringSet JsonStringDomain::one_of(std::span<const Json> values, bool positive) {
  std::vector<std::string_view> texts;
  for (const Json& value : values) {
    if (value.is_string()) {
      texts.push_back(value.as_string());
    }
  }
  if (texts.size() <= kFewTexts) {  // so that equal lists are one expression
    std::vector<RegexId> literals;
    for (const std::string_view text : texts) {
      literals.push_back(regexes().literal(text));
    }
    return signed_value({.regex = regexes().any_of(literals)}, positive);
  }
  const Result<RegexId> regex = one_of_texts(std::move(texts), &regexes(), &terms_->budget());
  if (!regex.ok()) {
    terms_->fail(regex.status());
    return bottom();
  }
  is_none_.emplace(regex.value(), false);
  return signed_value({.regex = regex.value()}, positive);
}

JsonStringSet JsonStringDomain::keyword(const SchemaPlace& place, const JsonMember& member,
                                        bool positive, bool /*track*/) {
  std::int64_t count = 0;
  if (member.key == "minLength" && member.value.to_int64(&count)) {
    return signed_value(plain(count, kUnbounded), positive);
  }
  if (member.key == "maxLength" && member.value.to_int64(&count)) {
    return signed_value(plain(0, count), positive);
  }
  if (member.key == "pattern") {
    return pattern(place, member.value.as_string(), positive);
  }
  if (member.key == "format") {
    return format(place, member.value.as_string(), positive);
  }
  return positive ? top() : bottom();
}

JsonStringSet JsonStringDomain::pattern(const SchemaPlace& place, std::string_view pattern,
                                        bool positive) {
  RegexParseOptions options;
  options.anchored = false;
  options.max_expressions = terms_->budget().limits().max_expressions;
  options.is_cancelled = terms_->budget().is_cancelled();
  const Result<RegexId> regex = parse_regex(pattern, options, &regexes());
  if (regex.ok()) {
    return signed_value({.regex = regex.value()}, positive);
  }
  const Status status = regex.status();
  if (status.code() == Code::kUnsupported) {
    terms_->unsupported(place.id, "pattern", status.message());
  } else {
    terms_->fail(
        Status(status).with(terms_->document().pointer(place.id) + pointer_step("pattern")));
  }
  return positive ? top() : bottom();
}

RegexId JsonStringDomain::anchored(std::string_view pattern) {
  RegexParseOptions options;
  options.max_expressions = terms_->budget().limits().max_expressions;
  const Result<RegexId> regex = parse_regex(pattern, options, &regexes());
  if (!regex.ok()) {
    terms_->fail(regex.status());
    return regexes().none();
  }
  return regex.value();
}

JsonStringSet JsonStringDomain::format(const SchemaPlace& place, std::string_view name,
                                       bool positive) {
  const JsonFormat* const format = find_json_format(name);
  if (format == nullptr) {
    terms_->unsupported(place.id, "format",
                        "format " + std::string(name) + " is not supported; remove it");
    return positive ? top() : bottom();
  }
  if (!positive) {
    terms_->unsupported(place.id, "format", "cannot be enforced inside not, oneOf or if");
    return bottom();
  }
  const RegexId regex = anchored(format->pattern);
  return {.regex = format->excluded.empty() ? regex : without(regex, anchored(format->excluded))};
}

}  // namespace plumb
