// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "grammar/json_schema_evaluator.h"
#include "grammar/json_schema_terms.h"

namespace plumb {

/// What the three domains of single values have in common: they evaluate no members.
template <class V>
class JsonScalarDomain {
 public:
  using Value = V;
  static constexpr std::string_view kUnevaluated{};
  static constexpr bool kHasMembers = false;

  static Value close(const SchemaPlace& /*place*/, Value value, Literal /*rest*/, bool /*positive*/,
                     bool /*track*/) {
    return value;
  }
};

/// null, true and false, as a set of bits.
class JsonFixedDomain : public JsonScalarDomain<std::uint8_t> {
 public:
  enum : std::uint8_t { kNull = 1, kTrue = 2, kFalse = 4, kAll = 7 };

  explicit JsonFixedDomain(JsonSchemaTerms* /*terms*/) {}

  static Value top() { return kAll; }

  static Value bottom() { return 0; }

  static Value meet(Value a, Value b) { return a & b; }

  static Value join(Value a, Value b) { return a | b; }

  static bool surely_bottom(Value value) { return value == 0; }

  static Value type(const Json& names, bool positive);
  static Value constant(const Json& json, bool positive);
  static Value one_of(std::span<const Json> values, bool positive);

  static Value keyword(const SchemaPlace& /*place*/, const JsonMember& /*member*/, bool positive,
                       bool /*track*/) {
    return positive ? kAll : 0;
  }
};

/// Numbers.
class JsonNumberDomain : public JsonScalarDomain<NumberSetId> {
 public:
  explicit JsonNumberDomain(JsonSchemaTerms* terms) : terms_(terms) {}

  Value top() { return sets().all(); }

  Value bottom() { return sets().none(); }

  Value meet(Value a, Value b) { return checked(sets().both(a, b)); }

  Value join(Value a, Value b) { return checked(sets().either(a, b)); }

  bool surely_bottom(Value value) { return value == sets().none(); }

  Value type(const Json& names, bool positive);

  Value constant(const Json& json, bool positive) { return one_of(std::span(&json, 1), positive); }

  Value one_of(std::span<const Json> values, bool positive);
  Value keyword(const SchemaPlace& place, const JsonMember& member, bool positive, bool track);

 private:
  JsonNumberSets& sets() { return terms_->numbers(); }

  /// Hands an error of the sets on.
  Value checked(Value value);

  Value signed_value(Value value, bool positive) {
    return checked(positive ? value : sets().other(value));
  }

  bool read(const Json& json, Decimal* out);

  JsonSchemaTerms* terms_;
};

/// A language of decoded strings.
struct JsonStringSet {
  RegexId regex{};
  /// Whether the length in characters is all that matters; then the text may use any escapes.
  bool is_plain = false;
  std::int64_t min = 0;
  std::int64_t max = kUnbounded;
};

/// Strings, by what they decode to.
class JsonStringDomain : public JsonScalarDomain<JsonStringSet> {
 public:
  explicit JsonStringDomain(JsonSchemaTerms* terms) : terms_(terms) {}

  Value top() { return plain(0, kUnbounded); }

  Value bottom() { return {.regex = regexes().none()}; }

  Value meet(const Value& a, const Value& b);
  Value join(const Value& a, const Value& b);

  /// Decided exactly.
  bool surely_bottom(const Value& value) { return !value.is_plain && is_none(value.regex); }

  Value type(const Json& names, bool positive);

  Value constant(const Json& json, bool positive) { return one_of(std::span(&json, 1), positive); }

  Value one_of(std::span<const Json> values, bool positive);
  Value keyword(const SchemaPlace& place, const JsonMember& member, bool positive, bool track);

  bool is_none(RegexId regex);
  RegexId without(RegexId from, RegexId what);

 private:
  RegexSet& regexes() { return terms_->regexes(); }

  Value plain(std::int64_t min, std::int64_t max);
  Value signed_value(Value value, bool positive);
  Value pattern(const SchemaPlace& place, std::string_view pattern, bool positive);
  Value format(const SchemaPlace& place, std::string_view name, bool positive);
  RegexId anchored(std::string_view pattern);

  JsonSchemaTerms* terms_;
  std::map<RegexId, bool> is_none_;
};

/// Whether a `type` value has the name.
bool names_json_type(const Json& names, std::string_view type);

/// Strings that a format accepts, though perhaps without some exotic ones: what the pattern matches
/// and the excluded one does not. Both are in the dialect of parse_regex(), anchored.
struct JsonFormat {
  std::string_view name;
  std::string_view pattern;
  std::string_view excluded;  ///< empty: nothing
};

/// nullptr if unknown.
const JsonFormat* find_json_format(std::string_view name);

}  // namespace plumb
