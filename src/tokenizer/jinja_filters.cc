// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_filters.h"

#include <algorithm>
#include <cmath>

#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_operators.h"

namespace plumb::jinja {

namespace {

Status not_a_number(std::string_view filter, const Value& value) {
  if (value.is_undefined()) {
    return Interpreter::undefined_error(value);
  }
  return raise(std::string(filter) + ": expected a number, got '" + std::string(type_name(value)) +
               "'");
}

Result<Value> filter_abs(Interpreter& in, const Value& value, const Args&) {
  if (!value.is_number()) {
    return not_a_number("abs", value);
  }
  if (value.is(Kind::kFloat)) {
    return Value::floating(std::fabs(value.f));
  }
  return to_big(value).is_negative() ? negate(value, in.heap())
                                     : in.heap().make_integer(to_big(value));
}

Result<Value> filter_default(Interpreter& in, const Value& value, const Args& args) {
  const bool replace = value.is_undefined() || (flag(args, 1) && !truthy(value));
  if (!replace) {
    return value;
  }
  return arg(args, 0).is_missing() ? in.heap().make_string("", false) : arg(args, 0);
}

Result<Value> filter_attr(Interpreter& in, const Value& value, const Args& args) {
  if (!arg(args, 0).is_string()) {
    return raise("attr: the name must be a string");
  }
  // Only attributes count, so a dict must not answer with its keys.
  if (value.is(Kind::kDict) && find_method(Kind::kDict, arg(args, 0).str()) == nullptr) {
    return in.undefined_attribute(value, arg(args, 0));
  }
  return in.attribute(value, arg(args, 0));
}

Result<Value> float_to_integer(Interpreter& in, const Value& value, const Value& fallback) {
  if (std::isnan(value.f)) {
    return fallback;
  }
  if (std::isinf(value.f)) {
    return raise("cannot convert infinity to an integer");
  }
  return in.heap().make_integer(BigInt::from_double(value.f));
}

Result<Value> filter_int(Interpreter& in, const Value& value, const Args& args) {
  const Value fallback = arg(args, 0).is_missing() ? Value::integer(0) : arg(args, 0);
  std::int64_t base = 10;
  if (!arg(args, 1).is_missing() && !to_index(arg(args, 1), &base)) {
    base = 1;  // no base: only the conversion through a float is left
  }
  if (value.is_undefined()) {
    return Interpreter::undefined_error(value);
  }
  if (value.is(Kind::kFloat)) {
    return float_to_integer(in, value, fallback);
  }
  if (value.is_int_like()) {
    return in.heap().make_integer(to_big(value));
  }
  if (!value.is_string()) {
    return fallback;
  }
  BigInt integer;
  if (parse_integer(value.str(), base, &integer)) {
    return in.heap().make_integer(integer);
  }
  double real = 0;
  if (!parse_float(value.str(), &real) || !std::isfinite(real)) {
    return fallback;
  }
  return in.heap().make_integer(BigInt::from_double(real));
}

Result<Value> filter_float(Interpreter&, const Value& value, const Args& args) {
  const Value fallback = arg(args, 0).is_missing() ? Value::floating(0) : arg(args, 0);
  if (value.is_undefined()) {
    return Interpreter::undefined_error(value);
  }
  if (value.is_number()) {
    const double real = to_double(value);
    if (std::isinf(real) && !value.is(Kind::kFloat)) {
      return raise("integer is too large to convert to a float");
    }
    return Value::floating(real);
  }
  double real = 0;
  return value.is_string() && parse_float(value.str(), &real) ? Value::floating(real) : fallback;
}

Result<Value> round_integer(Interpreter& in, const Value& value, std::int64_t digits) {
  const BigInt number = to_big(value);
  if (digits >= 0) {
    return in.heap().make_integer(number);
  }
  if (-digits > 4000) {
    return Value::integer(0);
  }
  const BigInt unit = BigInt(10).power(-digits);
  BigInt quotient;
  BigInt rest;
  BigInt::divide(number, unit, &quotient, &rest);
  const int half = (rest + rest).compare(unit);
  if (half > 0 || (half == 0 && quotient.is_odd())) {
    quotient = quotient + BigInt(1);
  }
  return in.heap().make_integer(quotient * unit);
}

Result<Value> round_towards(Interpreter& in, const Value& value, const Value& precision, bool up) {
  PLUMB_ASSIGN(const Value scale,
               arithmetic(Arithmetic::kPow, Value::integer(10), precision, in.heap()));
  PLUMB_ASSIGN(const Value scaled, arithmetic(Arithmetic::kMul, value, scale, in.heap()));
  Value whole = scaled;
  if (scaled.is(Kind::kFloat)) {
    if (!std::isfinite(scaled.f)) {
      return raise("round: cannot convert a value that is not finite to an integer");
    }
    whole = in.heap().make_integer(
        BigInt::from_double(up ? std::ceil(scaled.f) : std::floor(scaled.f)));
  }
  return arithmetic(Arithmetic::kDiv, whole, scale, in.heap());
}

Result<Value> filter_round(Interpreter& in, const Value& value, const Args& args) {
  const Value precision = arg(args, 0).is_missing() ? Value::integer(0) : arg(args, 0);
  const std::string_view method = arg(args, 1).is_missing()  ? "common"
                                  : arg(args, 1).is_string() ? arg(args, 1).str()
                                                             : "";
  if (method != "common" && method != "ceil" && method != "floor") {
    return raise("round: method must be common, ceil or floor");
  }
  std::int64_t digits = 0;
  if (!value.is_number() || !to_index(precision, &digits)) {
    return not_a_number("round", value.is_number() ? precision : value);
  }
  if (method != "common") {
    return round_towards(in, value, precision, method == "ceil");
  }
  if (value.is(Kind::kFloat)) {
    return Value::floating(round_to(value.f, digits));
  }
  return round_integer(in, value, digits);
}

Result<Value> filter_length(Interpreter&, const Value& value, const Args&) {
  std::int64_t length = 0;
  if (value.is(Kind::kLoop)) {
    PLUMB_ASSIGN(length, static_cast<LoopObj*>(value.ptr)->length());
  } else if (!length_of(value, &length)) {
    return raise("object of type '" + std::string(type_name(value)) + "' has no length");
  }
  return Value::integer(length);
}

Result<Value> filter_filesizeformat(Interpreter& in, const Value& value, const Args& args) {
  Args none;
  none.positional = {Value::none()};
  PLUMB_ASSIGN(const Value real, filter_float(in, value, none));
  if (!real.is(Kind::kFloat)) {
    return not_a_number("filesizeformat", value);
  }
  const bool binary = flag(args, 0);
  const double base = binary ? 1024 : 1000;
  const double bytes = real.f;
  if (bytes == 1) {
    return in.heap().make_string("1 Byte", false);
  }
  if (bytes < base) {
    PLUMB_ASSIGN(const Value whole, float_to_integer(in, real, Value::integer(0)));
    return in.heap().make_string(integer_text(whole) + " Bytes", false);
  }
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  std::string prefix;
  for (std::size_t i = 0; i < kPrefixes.size(); ++i) {
    unit *= base;
    prefix = kPrefixes.substr(i, 1);
    if (bytes < unit) {
      break;
    }
  }
  if (binary) {
    prefix = (prefix == "k" ? "K" : prefix) + "i";
  }
  PLUMB_ASSIGN(const Value number,
               format_with_spec(in, Value::floating(base * bytes / unit), ".1f"));
  return in.heap().make_string(std::string(number.str()) + " " + prefix + "B", false);
}

Result<Value> unsupported(Interpreter&, const Value&, const Args&) {
  return Status(Code::kUnsupported,
                "filters random, pprint, urlize and wordwrap are not supported");
}

constexpr FilterEntry kPlainFilters[] = {
    {"tojson", to_json, {{"ensure_ascii", "indent", "separators", "sort_keys"}}},
    {"length", filter_length, kNoArgs},
    {"count", filter_length, kNoArgs},
    {"default", filter_default, {{"default_value", "boolean"}}},
    {"d", filter_default, {{"default_value", "boolean"}}},
    {"from_json", from_json, kNoArgs},
    {"int", filter_int, {{"default", "base"}}},
    {"float", filter_float, {{"default"}}},
    {"abs", filter_abs, kNoArgs},
    {"round", filter_round, {{"precision", "method"}}},
    {"attr", filter_attr, {{"name"}, 1}},
    {"filesizeformat", filter_filesizeformat, {{"binary"}}},
    {"random", unsupported, kAnyArgs},
    {"pprint", unsupported, kAnyArgs},
    {"urlize", unsupported, kAnyArgs},
    {"wordwrap", unsupported, kAnyArgs},
};

}  // namespace

const FilterEntry* find_plain_filter(std::string_view name) {
  const auto* it = std::find_if(std::begin(kPlainFilters), std::end(kPlainFilters),
                                [name](const FilterEntry& entry) { return entry.name == name; });
  return it == std::end(kPlainFilters) ? nullptr : it;
}

const FilterEntry* find_filter(std::string_view name) {
  for (const auto find : {find_plain_filter, find_text_filter, find_sequence_filter}) {
    if (const FilterEntry* entry = find(name)) {
      return entry;
    }
  }
  return nullptr;
}

}  // namespace plumb::jinja
