// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_operators.h"

#include <algorithm>

#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_predicates.h"

namespace plumb::jinja {

namespace {

std::string_view symbol(BinaryOp op) {
  constexpr std::array<std::string_view, 7> kSymbols = {"+", "-", "*", "/", "//", "%", "**"};
  return kSymbols[static_cast<std::size_t>(op)];
}

Status operand_error(std::string_view op, const Value& a, const Value& b) {
  if (a.is_undefined() || b.is_undefined()) {
    return Interpreter::undefined_error(a.is_undefined() ? a : b);
  }
  return raise("unsupported operands for " + std::string(op) + ": '" + std::string(type_name(a)) +
               "' and '" + std::string(type_name(b)) + "'");
}

Value add_strings(Interpreter& in, const Value& a, const Value& b) {
  if (!a.markup && !b.markup) {
    return concatenate(a, b, in.heap());
  }
  Value out = concatenate(in.escape(a), in.escape(b), in.heap());
  out.markup = true;
  return out;
}

Result<Value> add_sequences(Interpreter& in, const Value& a, const Value& b) {
  const std::vector<Value>& left = a.list().items;
  const std::vector<Value>& right = b.list().items;
  in.heap().charge_steps(static_cast<std::int64_t>(left.size() + right.size()) / 16);
  std::vector<Value> items;
  items.reserve(left.size() + right.size());
  items.insert(items.end(), left.begin(), left.end());
  items.insert(items.end(), right.begin(), right.end());
  return in.heap().make_list(std::move(items), a.kind);
}

Status too_large() {
  return {Code::kResourceExhausted, "a repeated value needs more memory than allowed"};
}

Result<Value> repeat(Interpreter& in, const Value& value, const Value& count) {
  std::int64_t n = 0;
  to_index(count, &n);
  n = std::max<std::int64_t>(n, 0);
  const bool string = value.is_string();
  const auto unit = static_cast<std::int64_t>(string ? value.size : value.list().items.size());
  const std::int64_t unit_bytes = string ? unit : unit * static_cast<std::int64_t>(sizeof(Value));
  if (unit == 0 || n == 0) {
    n = 0;
  } else if (n > (std::int64_t{1} << 32) || !in.heap().has_room(unit_bytes * n)) {
    return too_large();
  }
  in.heap().charge_steps(unit * n / 16);
  if (!string) {
    std::vector<Value> items;
    items.reserve(static_cast<std::size_t>(unit * n));
    for (std::int64_t i = 0; i < n; ++i) {
      items.insert(items.end(), value.list().items.begin(), value.list().items.end());
    }
    return in.heap().make_list(std::move(items), value.kind);
  }
  StrBuilder out(in.heap());
  for (std::int64_t i = 0; i < n && !out.exhausted(); ++i) {
    out.append(value);
  }
  Value text = out.take();
  text.markup = value.markup;
  return text;
}

bool is_sequence(const Value& value) {
  return value.is_string() || value.is(Kind::kList) || value.is(Kind::kTuple);
}

Result<Ordering> order_sequences(Interpreter& in, const Value& a, const Value& b, int depth) {
  const std::vector<Value>& left = a.list().items;
  const std::vector<Value>& right = b.list().items;
  const std::size_t common = std::min(left.size(), right.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (!equals(left[i], right[i], in.heap())) {
      return order(in, left[i], right[i], depth + 1);
    }
  }
  return left.size() == right.size()  ? Ordering::kEqual
         : left.size() < right.size() ? Ordering::kLess
                                      : Ordering::kGreater;
}

Result<bool> contains_in_dict(Interpreter& in, DictObj& dict, const Value& item) {
  if (!is_hashable(item, in.heap())) {
    return raise("unhashable type: '" + std::string(type_name(item)) + "'");
  }
  return dict.find(item, in.heap()) != nullptr;
}

bool range_contains(const RangeObj& range, const Value& item) {
  if (!item.is_number() || range.length == 0) {
    return false;
  }
  const double number = to_double(item);
  if (number < -9.2e18 || number > 9.2e18 ||
      number != static_cast<double>(static_cast<std::int64_t>(number))) {
    return false;
  }
  const std::int64_t wanted = item.is(Kind::kFloat) ? static_cast<std::int64_t>(number) : item.i;
  const std::int64_t first = std::min(range.start, range.at(range.length - 1));
  const std::int64_t last = std::max(range.start, range.at(range.length - 1));
  return wanted >= first && wanted <= last && (wanted - range.start) % range.step == 0;
}

}  // namespace

bool to_index(const Value& value, std::int64_t* out) {
  if (value.is(Kind::kInt) || value.is(Kind::kBool)) {
    *out = value.i;
    return true;
  }
  if (value.is(Kind::kBigInt)) {
    *out = value.big().is_negative() ? INT64_MIN : INT64_MAX;
    return true;
  }
  return false;
}

Result<Value> binary(Interpreter& in, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return arithmetic(static_cast<Arithmetic>(op), a, b, in.heap());
  }
  if (op == BinaryOp::kMod && a.is_string()) {
    return format_percent(in, a, b);
  }
  if (op == BinaryOp::kAdd) {
    if (a.is_string() && b.is_string()) {
      return add_strings(in, a, b);
    }
    if (a.kind == b.kind && (a.is(Kind::kList) || a.is(Kind::kTuple))) {
      return add_sequences(in, a, b);
    }
  }
  if (op == BinaryOp::kMul) {
    if (is_sequence(a) && b.is_int_like()) {
      return repeat(in, a, b);
    }
    if (is_sequence(b) && a.is_int_like()) {
      return repeat(in, b, a);
    }
  }
  return operand_error(symbol(op), a, b);
}

Result<Ordering> order(Interpreter& in, const Value& a, const Value& b, int depth) {
  in.heap().charge_steps(1);
  if (in.heap().exhausted() || depth > kMaxNesting) {
    return Status(Code::kResourceExhausted, "comparison takes more steps than allowed");
  }
  if (a.is_number() && b.is_number()) {
    return compare_numbers(a, b);
  }
  if (a.is_string() && b.is_string()) {
    const int c = a.str().compare(b.str());
    return c < 0 ? Ordering::kLess : c > 0 ? Ordering::kGreater : Ordering::kEqual;
  }
  if (a.kind == b.kind && (a.is(Kind::kList) || a.is(Kind::kTuple))) {
    return order_sequences(in, a, b, depth);
  }
  return operand_error("comparison", a, b);
}

Result<bool> contains(Interpreter& in, const Value& container, const Value& item) {
  switch (container.kind) {
    case Kind::kString:
      if (!item.is_string()) {
        return raise("'in <string>' requires a string on the left, not '" +
                     std::string(type_name(item)) + "'");
      }
      in.heap().charge_steps(container.size / 64);
      return container.str().find(item.str()) != std::string_view::npos;
    case Kind::kDict:
      return contains_in_dict(in, container.dict(), item);
    case Kind::kRange:
      return range_contains(container.range(), item);
    case Kind::kDictView:
      if (container.view().which == ViewKind::kKeys) {
        return contains_in_dict(in, *container.view().dict, item);
      }
      break;
    default:
      if (!is_iterable(container)) {
        return raise("argument of type '" + std::string(type_name(container)) +
                     "' is not iterable");
      }
  }
  PLUMB_ASSIGN(Iteration iteration, Iteration::over(container));
  Value value;
  while (true) {
    PLUMB_ASSIGN(const bool more, iteration.next(&value, in.heap()));
    if (!more) {
      return false;
    }
    if (equals(value, item, in.heap()) || same_object(value, item)) {
      return true;
    }
  }
}

Result<bool> compare(Interpreter& in, CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::kEq:
      return equals(a, b, in.heap());
    case CompareOp::kNe:
      return !equals(a, b, in.heap());
    case CompareOp::kIn:
      return contains(in, b, a);
    case CompareOp::kNotIn: {
      PLUMB_ASSIGN(const bool found, contains(in, b, a));
      return !found;
    }
    default:
      break;
  }
  PLUMB_ASSIGN(const Ordering o, order(in, a, b));
  switch (op) {
    case CompareOp::kLt:
      return o == Ordering::kLess;
    case CompareOp::kLe:
      return o == Ordering::kLess || o == Ordering::kEqual;
    case CompareOp::kGt:
      return o == Ordering::kGreater;
    default:
      return o == Ordering::kGreater || o == Ordering::kEqual;
  }
}

}  // namespace plumb::jinja
