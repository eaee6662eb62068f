// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "grammar/json_schema_members.h"

namespace plumb {

MemberAtom JsonArrayDomain::item(Kind kind, std::int64_t from, Literal literal,
                                 std::int64_t count) {
  return {.kind = kind, .name = {}, .literal = literal, .from = from, .count = count};
}

bool JsonArrayDomain::contradicts(const std::vector<MemberAtom>& atoms) {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
  for (const MemberAtom& atom : atoms) {
    if (atom.kind == Kind::kMinSize) {
      min = std::max(min, atom.count);
    } else if (atom.kind == Kind::kAtLeast) {
      min = std::max(min, atom.from + atom.count);
    } else if (atom.kind == Kind::kMaxSize) {
      max = std::min(max, atom.count);
    }
  }
  if (min > max) {
    return true;
  }
  // Items that must exist and that a condition names.
  std::map<std::int64_t, std::vector<Literal>> items;
  for (const MemberAtom& atom : atoms) {
    if (atom.kind == Kind::kItem && atom.from < min) {
      items[atom.from].push_back(atom.literal);
    }
  }
  for (auto& [index, literals] : items) {
    for (const MemberAtom& atom : atoms) {
      if (atom.kind == Kind::kRest && atom.from <= index) {
        literals.push_back(atom.literal);
      }
    }
    const GoalId goal = terms().goal(std::move(literals));
    // Each named item scans all conditions.
    if (!terms().charge(static_cast<std::int64_t>(atoms.size()) / 64) ||
        terms().surely_empty(goal)) {
      terms().note_empty_requirement(goal);
      return true;
    }
  }
  return false;
}

MemberSet JsonArrayDomain::constant(const Json& json, bool positive) {
  if (!json.is_array()) {
    return positive ? bottom() : top();
  }
  const JsonArray& values = json.as_array();
  const auto length = static_cast<std::int64_t>(values.size());
  if (!positive) {
    Value other = join(size(true, length, false), size(false, length, false));
    for (std::int64_t i = 0; i < length; ++i) {
      const Literal equal = terms().constant(values[static_cast<std::size_t>(i)]);
      other = join(std::move(other),
                   meet(one(item(Kind::kItem, i, negated(equal))), size(true, i + 1, true)));
    }
    return other;
  }
  Value exact = meet(size(true, length, true), size(false, length, true));
  for (std::int64_t i = 0; i < length; ++i) {
    const Literal equal = terms().constant(values[static_cast<std::size_t>(i)]);
    exact[0].atoms.push_back(item(Kind::kItem, i, equal));
  }
  return exact;
}

MemberSet JsonArrayDomain::prefix_items(const SchemaPlace& place, const JsonArray& schemas,
                                        bool positive, bool track) {
  MemberAlternative every;
  Value other;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const Literal literal = sub(place, schemas[i]);
    if (literal == Literal::kTrue) {
      continue;
    }
    every.atoms.push_back(item(Kind::kItem, index, literal));
    other = join(std::move(other), meet(one(item(Kind::kItem, index, negated(literal))),
                                        size(true, index + 1, true)));
  }
  if (track) {
    every.evaluated.prefix = static_cast<std::int64_t>(schemas.size());
  }
  return positive ? Value{std::move(every)} : other;
}

MemberSet JsonArrayDomain::items(const SchemaPlace& place, const Json& schema, bool positive,
                                 bool track) {
  const Json* const prefix = place.find("prefixItems");
  const auto from = static_cast<std::int64_t>(prefix == nullptr ? 0 : prefix->as_array().size());
  const Literal literal = sub(place, schema);
  if (!positive) {
    return literal == Literal::kTrue ? bottom()
                                     : one(item(Kind::kAtLeast, from, negated(literal), 1));
  }
  Value value = literal == Literal::kTrue ? top() : one(item(Kind::kRest, from, literal));
  value[0].evaluated.all_items = track;
  return value;
}

MemberSet JsonArrayDomain::contains(const SchemaPlace& place, const Json& schema, bool positive,
                                    bool track) {
  std::int64_t min = 1;
  std::int64_t max = -1;
  if (const Json* const json = place.find("minContains")) {
    static_cast<void>(json->to_int64(&min));
  }
  const Json* const max_json = place.find("maxContains");
  if (max_json != nullptr) {
    static_cast<void>(max_json->to_int64(&max));
  }
  const Literal literal = sub(place, schema);
  const auto count = [&](Kind kind, std::int64_t num) {
    if (num < 0) {
      return bottom();
    }
    if (literal == Literal::kTrue) {
      return size(kind == Kind::kAtLeast, num, true);
    }
    const bool is_none = kind == Kind::kAtMost && num == 0;
    return one(is_none ? item(Kind::kRest, 0, negated(literal)) : item(kind, 0, literal, num));
  };
  if (!positive) {
    Value value = min > 0 ? count(Kind::kAtMost, min - 1) : bottom();
    return max_json == nullptr ? value : join(std::move(value), count(Kind::kAtLeast, max + 1));
  }
  Value value = min > 0 ? count(Kind::kAtLeast, min) : top();
  if (max_json != nullptr) {
    value = meet(value, count(Kind::kAtMost, max));
  }
  if (track && !value.empty()) {
    value[0].evaluated.contained.push_back(literal);
  }
  return value;
}

MemberSet JsonArrayDomain::unique(const SchemaPlace& place, bool wanted, bool positive) {
  if (!wanted) {
    return positive ? top() : bottom();
  }
  if (!positive) {
    terms().unsupported(place.id, "uniqueItems", "cannot be enforced inside not, oneOf or if");
    return bottom();
  }
  MemberAtom atom = item(Kind::kUnique, 0, Literal::kTrue);
  atom.place = place.id;
  return one(std::move(atom));
}

MemberSet JsonArrayDomain::keyword(const SchemaPlace& place, const JsonMember& member,
                                   bool positive, bool track) {
  const std::string& key = member.key;
  track = track && positive;
  if (key == "prefixItems") {
    return prefix_items(place, member.value.as_array(), positive, track);
  }
  if (key == "items") {
    return items(place, member.value, positive, track);
  }
  if (key == "contains") {
    return contains(place, member.value, positive, track);
  }
  if (key == "uniqueItems") {
    return unique(place, member.value.as_bool(), positive);
  }
  std::int64_t count = 0;
  if ((key == "minItems" || key == "maxItems") && member.value.to_int64(&count)) {
    return size(key == "minItems", count, positive);
  }
  return positive ? top() : bottom();
}

MemberSet JsonArrayDomain::close(const SchemaPlace& /*place*/, Value others, Literal rest,
                                 bool positive, bool track) {
  Value result;
  for (MemberAlternative& alternative : others) {
    const EvaluatedMembers& evaluated = alternative.evaluated;
    std::vector<Literal> options = evaluated.contained;
    options.push_back(rest);
    const Literal literal = terms().any_of(std::move(options));
    if (evaluated.all_items || literal == Literal::kTrue) {
      if (positive) {
        alternative.evaluated.all_items = true;
        result.push_back(std::move(alternative));
      }
      continue;
    }
    const MemberAtom closing = positive
                                   ? item(Kind::kRest, evaluated.prefix, literal)
                                   : item(Kind::kAtLeast, evaluated.prefix, negated(literal), 1);
    Value closed = meet({alternative}, one(closing));
    for (MemberAlternative& each : closed) {
      each.evaluated.all_items = true;
    }
    result = join(std::move(result), closed);
  }
  if (!track) {
    drop_evaluated(&result);
  }
  return result;
}

}  // namespace plumb
