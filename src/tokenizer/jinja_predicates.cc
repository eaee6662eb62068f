// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_predicates.h"

#include <algorithm>

#include "tokenizer/jinja_filters.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_operators.h"

namespace plumb::jinja {

namespace {

using R = Result<bool>;

R remainder_is(Interpreter& in, const Value& value, const Value& divisor, std::int64_t wanted) {
  PLUMB_ASSIGN(const Value rest, binary(in, BinaryOp::kMod, value, divisor));
  return equals(rest, Value::integer(wanted), in.heap());
}

R is_odd(Interpreter& in, const Value& v, const Args&) {
  return remainder_is(in, v, Value::integer(2), 1);
}

R is_even(Interpreter& in, const Value& v, const Args&) {
  return remainder_is(in, v, Value::integer(2), 0);
}

R is_divisible(Interpreter& in, const Value& v, const Args& a) {
  return remainder_is(in, v, a.positional[0], 0);
}

R is_defined(Interpreter&, const Value& v, const Args&) {
  return !v.is_undefined();
}

R is_undefined(Interpreter&, const Value& v, const Args&) {
  return v.is_undefined();
}

R is_filter(Interpreter& in, const Value& v, const Args&) {
  if (!is_hashable(v, in.heap())) {
    return raise("unhashable type: '" + std::string(type_name(v)) + "'");
  }
  return v.is_string() && find_filter(v.str()) != nullptr;
}

R is_test(Interpreter& in, const Value& v, const Args&) {
  if (!is_hashable(v, in.heap())) {
    return raise("unhashable type: '" + std::string(type_name(v)) + "'");
  }
  return v.is_string() && find_test(v.str()) != nullptr;
}

R is_none(Interpreter&, const Value& v, const Args&) {
  return v.is_none();
}

R is_boolean(Interpreter&, const Value& v, const Args&) {
  return v.is(Kind::kBool);
}

R is_false(Interpreter&, const Value& v, const Args&) {
  return v.is(Kind::kBool) && v.i == 0;
}

R is_true(Interpreter&, const Value& v, const Args&) {
  return v.is_true();
}

R is_integer(Interpreter&, const Value& v, const Args&) {
  return v.is_integer();
}

R is_float(Interpreter&, const Value& v, const Args&) {
  return v.is(Kind::kFloat);
}

R is_number(Interpreter&, const Value& v, const Args&) {
  return v.is_number();
}

R is_string(Interpreter&, const Value& v, const Args&) {
  return v.is_string();
}

R is_mapping(Interpreter&, const Value& v, const Args&) {
  return v.is(Kind::kDict);
}

R has_case(Interpreter& in, const Value& v, std::string_view method) {
  const Value text = to_str(v, in.heap());
  PLUMB_ASSIGN(const Value holds, find_str_method(method)->fn(in, text, {}));
  return truthy(holds);
}

R is_lower_case(Interpreter& in, const Value& v, const Args&) {
  return has_case(in, v, "islower");
}

R is_upper_case(Interpreter& in, const Value& v, const Args&) {
  return has_case(in, v, "isupper");
}

R is_any_sequence(Interpreter&, const Value& v, const Args&) {
  std::int64_t length = 0;
  return length_of(v, &length) && !v.is(Kind::kDictView);
}

R test_iterable(Interpreter&, const Value& v, const Args&) {
  return is_iterable(v);
}

R test_callable(Interpreter&, const Value& v, const Args&) {
  return is_callable(v);
}

R is_same(Interpreter&, const Value& v, const Args& a) {
  return same_object(v, a.positional[0]);
}

R is_escaped(Interpreter&, const Value& v, const Args&) {
  return v.is_string() && v.markup;
}

R is_in(Interpreter& in, const Value& v, const Args& a) {
  return contains(in, a.positional[0], v);
}

template <CompareOp kOp>
R compares(Interpreter& in, const Value& v, const Args& a) {
  return compare(in, kOp, v, a.positional[0]);
}

constexpr TestEntry kTests[] = {
    {"defined", is_defined, 0},
    {"string", is_string, 0},
    {"none", is_none, 0},
    {"mapping", is_mapping, 0},
    {"iterable", test_iterable, 0},
    {"sequence", is_any_sequence, 0},
    {"undefined", is_undefined, 0},
    {"false", is_false, 0},
    {"true", is_true, 0},
    {"boolean", is_boolean, 0},
    {"number", is_number, 0},
    {"integer", is_integer, 0},
    {"float", is_float, 0},
    {"odd", is_odd, 0},
    {"even", is_even, 0},
    {"divisibleby", is_divisible, 1},
    {"filter", is_filter, 0},
    {"test", is_test, 0},
    {"lower", is_lower_case, 0},
    {"upper", is_upper_case, 0},
    {"callable", test_callable, 0},
    {"sameas", is_same, 1},
    {"escaped", is_escaped, 0},
    {"in", is_in, 1},
    {"equalto", compares<CompareOp::kEq>, 1},
    {"eq", compares<CompareOp::kEq>, 1},
    {"==", compares<CompareOp::kEq>, 1},
    {"ne", compares<CompareOp::kNe>, 1},
    {"!=", compares<CompareOp::kNe>, 1},
    {"gt", compares<CompareOp::kGt>, 1},
    {"greaterthan", compares<CompareOp::kGt>, 1},
    {">", compares<CompareOp::kGt>, 1},
    {"ge", compares<CompareOp::kGe>, 1},
    {">=", compares<CompareOp::kGe>, 1},
    {"lt", compares<CompareOp::kLt>, 1},
    {"lessthan", compares<CompareOp::kLt>, 1},
    {"<", compares<CompareOp::kLt>, 1},
    {"le", compares<CompareOp::kLe>, 1},
    {"<=", compares<CompareOp::kLe>, 1},
};

}  // namespace

const TestEntry* find_test(std::string_view name) {
  const auto* it = std::find_if(std::begin(kTests), std::end(kTests),
                                [name](const TestEntry& entry) { return entry.name == name; });
  return it == std::end(kTests) ? nullptr : it;
}

bool is_callable(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kMacro:
    case Kind::kJoiner:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

bool is_iterable(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kIterator:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

}  // namespace plumb::jinja
