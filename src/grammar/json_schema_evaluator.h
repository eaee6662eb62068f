// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grammar/json_schema_terms.h"

namespace plumb {

/// The values of one JSON type that a literal allows, computed over the keywords that combine
/// schemas (allOf, anyOf, oneOf, not, if, $ref, enum …). What the keywords of the type itself mean
/// is the Domain's part. A negative literal is pushed down to the leaves, so that a Domain needs no
/// complement.
///
/// With `track`, a value also says which members or items it has evaluated. anyOf then looks at
/// every branch, as validation does, and each alternative of the value belongs to one outcome.
///
/// Domain  Value; top(), bottom(), meet(a, b), join(a, b); surely_bottom(v); type(names, positive);
///         constant(json, positive); maybe one_of(values, positive);
///         keyword(place, member, positive, track);
///         kUnevaluated, close(place, value, literal, positive, track), untracked(value);
///         kHasMembers, and with it presence(name, present),
///         all_present(names, positive).
/// Thread  one at a time.
template <class Domain>
class JsonSchemaEvaluator {
 public:
  using Value = typename Domain::Value;

  JsonSchemaEvaluator(JsonSchemaTerms* terms, Domain* domain) : terms_(terms), domain_(domain) {}

  /// bottom() after an error.
  Value eval(Literal literal, bool track = false) {
    if (literal == Literal::kTrue || literal == Literal::kFalse) {
      return literal == Literal::kTrue ? domain_->top() : domain_->bottom();
    }
    const auto [it, fresh] = memo_.try_emplace({literal, track});
    if (!fresh && it->second.is_done) {
      return it->second.value;
    }
    if (!fresh) {
      return unfinished(literal);
    }
    ++depth_;
    Value value = terms_->charge(1) && fits(literal) ? compute(literal, track) : domain_->bottom();
    --depth_;
    if (terms_->probe_in_vain()) {
      memo_.erase(it);  // computed without something that is not known yet
      return value;
    }
    it->second = {std::move(value), true};
    return it->second.value;
  }

 private:
  /// References that follow each other without entering a value; bounds the machine's stack.
  static constexpr int kMaxDepth = 256;

  struct Memo {
    Value value{};
    bool is_done = false;
  };

  /// A literal that is needed to compute itself. A probe may have come back to where it was asked
  /// from; otherwise the schema is a loop.
  Value unfinished(Literal literal) {
    if (!terms_->give_up_probe()) {
      terms_->fail(Status{Code::kInvalidArgument,
                          terms_->document().pointer(terms_->target(literal).schema) +
                              ": the schema refers to itself for the same value"});
    }
    return domain_->bottom();
  }

  bool fits(Literal literal) {
    if (depth_ > kMaxDepth) {
      terms_->fail(Status{Code::kInvalidArgument,
                          terms_->document().pointer(terms_->target(literal).schema) +
                              ": more than " + std::to_string(kMaxDepth) +
                              " nested references and combinations"});
    }
    return !terms_->failed();
  }

  Value compute(Literal literal, bool track) {
    const LiteralTarget target = terms_->target(literal);
    const bool positive = !is_negative(literal);
    if (target.kind == LiteralTarget::Kind::kConstant) {
      return domain_->constant(*target.constant, positive);
    }
    if (target.kind == LiteralTarget::Kind::kAnyOf) {
      return positive ? any(target.options, false) : all(opposites(target.options), false);
    }
    const SchemaPlace place{target.schema, target.scope,
                            &terms_->document().json(target.schema).as_object()};
    // A domain without such a keyword has no name for it; a schema may have a member without one.
    const Json* const unevaluated =
        Domain::kUnevaluated.empty() ? nullptr : place.find(Domain::kUnevaluated);
    if (unevaluated == nullptr) {
      return keywords(place, positive, track);
    }
    const Literal rest = sub(place, *unevaluated);
    Value others = keywords(place, true, true);
    if (positive) {
      return domain_->close(place, std::move(others), rest, true, track);
    }
    return domain_->join(keywords(place, false, false),
                         domain_->close(place, std::move(others), rest, false, false));
  }

  /// All keywords but the unevaluated ones. Those that only name members come last, so that members
  /// keep the order in which `properties` lists them.
  Value keywords(const SchemaPlace& place, bool positive, bool track) {
    Value value = positive ? domain_->top() : domain_->bottom();
    for (const bool names_members : {false, true}) {
      for (const JsonMember& member : *place.object) {
        const bool late = member.key == "required" || member.key.starts_with("dependent");
        if (late != names_members || terms_->failed()) {
          continue;
        }
        Value next = keyword(place, member, positive, track);
        value = positive ? domain_->meet(std::move(value), std::move(next))
                         : domain_->join(std::move(value), std::move(next));
      }
    }
    return value;
  }

  Value keyword(const SchemaPlace& place, const JsonMember& member, bool positive, bool track) {
    const std::string& key = member.key;
    if (key == "type") {
      return domain_->type(member.value, positive);
    }
    if (key == "const") {
      return domain_->constant(member.value, positive);
    }
    if (key == "enum") {
      return one_value_of(member.value.as_array(), positive);
    }
    if (key == "$ref" || key == "$dynamicRef") {
      const Literal target =
          terms_->reference(place.id, place.scope, member.value.as_string(), key == "$dynamicRef");
      return positive ? eval(target, track) : eval(negated(target));
    }
    if (key == "not") {
      const Literal inner = sub(place, member.value);
      return positive ? eval(negated(inner)) : eval(inner);
    }
    if (key == "if") {
      return conditional(place, positive, track);
    }
    if (key == "allOf" || key == "anyOf" || key == "oneOf") {
      return combination(key, subs(place, member.value), positive, track);
    }
    if constexpr (Domain::kHasMembers) {
      if (key == "dependentRequired" || key == "dependentSchemas") {
        return dependents(place, member.value.as_object(), positive, track);
      }
    }
    return domain_->keyword(place, member, positive, track);
  }

  Literal sub(const SchemaPlace& place, const Json& json) {
    return terms_->schema(terms_->document().id_of(json), place.scope);
  }

  std::vector<Literal> subs(const SchemaPlace& place, const Json& array) {
    std::vector<Literal> result;
    for (const Json& json : array.as_array()) {
      result.push_back(sub(place, json));
    }
    return result;
  }

  static std::vector<Literal> opposites(std::vector<Literal> literals) {
    for (Literal& literal : literals) {
      literal = negated(literal);
    }
    return literals;
  }

  /// At once, or by halves, so that long enumerations do not copy their beginning again and again.
  Value one_value_of(std::span<const Json> values, bool positive) {
    if constexpr (requires { domain_->one_of(values, positive); }) {
      return domain_->one_of(values, positive);
    }
    if (!terms_->charge(1) || values.empty()) {
      return positive ? domain_->bottom() : domain_->top();
    }
    if (values.size() == 1) {
      return domain_->constant(values[0], positive);
    }
    const std::size_t half = values.size() / 2;
    Value first = one_value_of(values.first(half), positive);
    Value second = one_value_of(values.subspan(half), positive);
    return positive ? domain_->join(std::move(first), std::move(second))
                    : domain_->meet(std::move(first), std::move(second));
  }

  Value combination(const std::string& key, std::vector<Literal> branches, bool positive,
                    bool track) {
    if (key == "allOf") {
      return positive ? all(branches, track) : any(opposites(std::move(branches)), false);
    }
    if (key == "anyOf") {
      return positive ? any(branches, track) : all(opposites(std::move(branches)), false);
    }
    return positive ? exactly_one(branches, track) : not_exactly_one(branches);
  }

  Value all(const std::vector<Literal>& literals, bool track) {
    Value value = domain_->top();
    for (const Literal literal : literals) {
      value = domain_->meet(std::move(value), eval(literal, track));
    }
    return value;
  }

  Value any(const std::vector<Literal>& literals, bool track) {
    Value some = domain_->bottom();
    if (!track) {
      for (const Literal literal : literals) {
        some = domain_->join(std::move(some), eval(literal));
      }
      return some;
    }
    Value none = domain_->top();
    for (const Literal literal : literals) {
      const Value holds = eval(literal, true);
      const Value fails = eval(negated(literal));
      some = domain_->join(domain_->join(domain_->meet(some, holds), domain_->meet(some, fails)),
                           domain_->meet(none, holds));
      none = domain_->meet(std::move(none), fails);
    }
    return some;
  }

  Value exactly_one(const std::vector<Literal>& literals, bool track) {
    std::vector<Value> branches;
    branches.reserve(literals.size());
    for (const Literal literal : literals) {
      branches.push_back(eval(literal, track));
    }
    // Where two branches exclude each other, the one implies that the other fails.
    std::vector<std::vector<std::size_t>> rivals(literals.size());
    for (std::size_t i = 0; i < literals.size(); ++i) {
      for (std::size_t j = i + 1; j < literals.size() && terms_->poll(); ++j) {
        if (!domain_->surely_bottom(domain_->meet(branches[i], branches[j]))) {
          rivals[i].push_back(j);
          rivals[j].push_back(i);
        }
      }
    }
    Value result = domain_->bottom();
    for (std::size_t i = 0; i < literals.size() && !terms_->failed(); ++i) {
      Value value = std::move(branches[i]);
      for (const std::size_t j : rivals[i]) {
        terms_->poll();
        value = domain_->meet(std::move(value), eval(negated(literals[j])));
      }
      result = domain_->join(std::move(result), std::move(value));
    }
    return result;
  }

  Value not_exactly_one(const std::vector<Literal>& literals) {
    Value none = domain_->top();
    Value one = domain_->bottom();
    Value more = domain_->bottom();
    for (const Literal literal : literals) {
      const Value holds = eval(literal);
      const Value fails = eval(negated(literal));
      more = domain_->join(std::move(more), domain_->meet(one, holds));
      one = domain_->join(std::move(one), domain_->meet(none, holds));
      none = domain_->meet(std::move(none), fails);
    }
    return domain_->join(std::move(none), std::move(more));
  }

  Value conditional(const SchemaPlace& place, bool positive, bool track) {
    const Literal condition = sub(place, *place.find("if"));
    const Json* const then_json = place.find("then");
    const Json* const else_json = place.find("else");
    Literal then_literal = then_json == nullptr ? Literal::kTrue : sub(place, *then_json);
    Literal else_literal = else_json == nullptr ? Literal::kTrue : sub(place, *else_json);
    if (!track && then_literal == Literal::kTrue && else_literal == Literal::kTrue) {
      return positive ? domain_->top() : domain_->bottom();
    }
    if (!positive) {
      then_literal = negated(then_literal);
      else_literal = negated(else_literal);
    }
    track = track && positive;
    return domain_->join(domain_->meet(eval(condition, track), eval(then_literal, track)),
                         domain_->meet(eval(negated(condition)), eval(else_literal, track)));
  }

  /// dependentSchemas, and dependentRequired as its special case.
  Value dependents(const SchemaPlace& place, const JsonObject& map, bool positive, bool track) {
    Value value = positive ? domain_->top() : domain_->bottom();
    for (const JsonMember& member : map) {
      Value needed = member.value.is_array()
                         ? domain_->all_present(member.value.as_array(), positive)
                         : dependent(place, member.value, positive, track);
      Value present = domain_->meet(domain_->presence(member.key, true), std::move(needed));
      if (positive) {
        value = domain_->meet(std::move(value), domain_->join(domain_->presence(member.key, false),
                                                              std::move(present)));
      } else {
        value = domain_->join(std::move(value), std::move(present));
      }
    }
    return value;
  }

  Value dependent(const SchemaPlace& place, const Json& schema, bool positive, bool track) {
    const Literal literal = sub(place, schema);
    return positive ? eval(literal, track) : eval(negated(literal));
  }

  JsonSchemaTerms* terms_;
  Domain* domain_;
  int depth_ = 0;
  std::map<std::pair<Literal, bool>, Memo> memo_;
};

}  // namespace plumb
