// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/json_schema_evaluator.h"
#include "grammar/json_schema_scalars.h"
#include "grammar/json_schema_terms.h"

namespace plumb {

/// One condition on the members of an object or the items of an array. The opposite of each is
/// again one or two of them.
struct MemberAtom {
  enum class Kind : unsigned char {
    kEvery,    ///< each member whose name is in keys satisfies the literal
    kSome,     ///< at least one does
    kItem,     ///< item `from` satisfies the literal, if there is one
    kRest,     ///< each item at `from` and after does
    kAtLeast,  ///< at least `count` items at `from` and after do
    kAtMost,   ///< at most `count` do
    kMinSize,  ///< at least `count` members or items
    kMaxSize,  ///< at most `count`
    kUnique,   ///< no two items are equal
  };
  Kind kind{};
  bool is_named = false;  ///< keys are one name
  std::string name;
  RegexId keys{};
  Literal literal = Literal::kTrue;
  std::int64_t from = 0;
  std::int64_t count = 0;
  SchemaId place{};  ///< of kUnique, for messages
  bool operator==(const MemberAtom&) const = default;
};

/// What has been evaluated, for the unevaluated keywords.
struct EvaluatedMembers {
  std::vector<std::string> names;
  std::vector<RegexId> keys;
  std::int64_t prefix = 0;
  bool all_items = false;
  std::vector<Literal> contained;
  bool operator==(const EvaluatedMembers&) const = default;
};

/// Conditions that hold together.
struct MemberAlternative {
  std::vector<MemberAtom> atoms;
  EvaluatedMembers evaluated;
  bool operator==(const MemberAlternative&) const = default;
};

/// Any of these.
using MemberSet = std::vector<MemberAlternative>;

/// The part of the domains of objects and arrays that does not depend on which it is.
class JsonMemberDomain {
 public:
  using Value = MemberSet;

  JsonMemberDomain(JsonSchemaTerms* terms, std::string_view type) : terms_(terms), type_(type) {}

  virtual ~JsonMemberDomain() = default;
  JsonMemberDomain(const JsonMemberDomain&) = delete;
  JsonMemberDomain& operator=(const JsonMemberDomain&) = delete;

  static Value top() { return {MemberAlternative{}}; }

  static Value bottom() { return {}; }

  Value meet(const Value& a, const Value& b);
  Value join(Value a, const Value& b);

  static bool surely_bottom(const Value& value) { return value.empty(); }

  Value type(const Json& names, bool positive) const {
    return names_json_type(names, type_) == positive ? top() : bottom();
  }

 protected:
  using Kind = MemberAtom::Kind;

  virtual bool contradicts(const std::vector<MemberAtom>& atoms) = 0;

  JsonSchemaTerms& terms() { return *terms_; }

  static Value one(MemberAtom atom) { return {{{std::move(atom)}, {}}}; }

  /// The size keyword named Min or Max.
  static Value size(bool is_min, std::int64_t count, bool positive);

  Literal sub(const SchemaPlace& place, const Json& json) {
    return terms_->schema(terms_->document().id_of(json), place.scope);
  }

  static void drop_evaluated(Value* value);

 private:
  JsonSchemaTerms* terms_;
  std::string_view type_;
};

/// Objects.
class JsonObjectDomain : public JsonMemberDomain {
 public:
  static constexpr std::string_view kUnevaluated = "unevaluatedProperties";
  static constexpr bool kHasMembers = true;

  JsonObjectDomain(JsonSchemaTerms* terms, JsonStringDomain* strings,
                   JsonSchemaEvaluator<JsonStringDomain>* string_evaluator)
      : JsonMemberDomain(terms, "object"), strings_(strings), string_evaluator_(string_evaluator) {}

  Value constant(const Json& json, bool positive);
  Value keyword(const SchemaPlace& place, const JsonMember& member, bool positive, bool track);
  Value presence(const std::string& name, bool present);
  /// That all names are present, or that not all are.
  Value all_present(const JsonArray& names, bool positive);
  /// Applies an unevaluated keyword to the alternatives of the other keywords.
  Value close(const SchemaPlace& place, const Value& others, Literal rest, bool positive,
              bool track);

  /// What the conditions of one alternative say about single names.
  class NamedConditions {
   public:
    /// Requires the conditions outlive this.
    NamedConditions(JsonObjectDomain* domain, std::span<const MemberAtom> atoms);
    /// What a member of that name must satisfy.
    std::vector<Literal> on(const std::string& name) const;

   private:
    JsonObjectDomain* domain_;
    std::map<std::string, std::vector<Literal>> by_name_;
    std::vector<const MemberAtom*> by_keys_;
  };

  /// Whether the atom speaks of the name.
  bool covers(const MemberAtom& atom, std::string_view name);
  /// All strings but those.
  RegexId other_keys(const std::vector<std::string>& names, const std::vector<RegexId>& keys);

 private:
  bool contradicts(const std::vector<MemberAtom>& atoms) override;
  static MemberAtom named(Kind kind, const std::string& name, Literal literal);
  static MemberAtom keyed(Kind kind, RegexId keys, Literal literal);
  /// That each member with such a name satisfies the literal, or that one does not. Tracks keys,
  /// not a name.
  Value every(MemberAtom atom, bool positive, bool track);
  Value properties(const SchemaPlace& place, const JsonObject& map, bool positive, bool track);
  Value pattern_properties(const SchemaPlace& place, const JsonObject& map, bool positive,
                           bool track);
  Value additional_properties(const SchemaPlace& place, const Json& schema, bool positive,
                              bool track);
  RegexId pattern(const SchemaPlace& place, const std::string& pattern);
  RegexId matching(const JsonObject& map, const SchemaPlace& place);

  JsonStringDomain* strings_;
  JsonSchemaEvaluator<JsonStringDomain>* string_evaluator_;
};

/// Arrays.
class JsonArrayDomain : public JsonMemberDomain {
 public:
  static constexpr std::string_view kUnevaluated = "unevaluatedItems";
  static constexpr bool kHasMembers = false;

  explicit JsonArrayDomain(JsonSchemaTerms* terms) : JsonMemberDomain(terms, "array") {}

  Value constant(const Json& json, bool positive);
  Value keyword(const SchemaPlace& place, const JsonMember& member, bool positive, bool track);
  Value close(const SchemaPlace& place, Value others, Literal rest, bool positive, bool track);

 private:
  bool contradicts(const std::vector<MemberAtom>& atoms) override;
  static MemberAtom item(Kind kind, std::int64_t from, Literal literal, std::int64_t count = 0);
  Value prefix_items(const SchemaPlace& place, const JsonArray& schemas, bool positive, bool track);
  Value items(const SchemaPlace& place, const Json& schema, bool positive, bool track);
  Value contains(const SchemaPlace& place, const Json& schema, bool positive, bool track);
  Value unique(const SchemaPlace& place, bool wanted, bool positive);
};

}  // namespace plumb
