// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

constexpr std::int64_t kMaxIntegerBits = 1 << 16;

Status zero_division() {
  return raise("division by zero");
}

Ordering order_of(int c) {
  return c < 0 ? Ordering::kLess : c > 0 ? Ordering::kGreater : Ordering::kEqual;
}

Ordering flip(Ordering o) {
  return o == Ordering::kLess ? Ordering::kGreater : o == Ordering::kGreater ? Ordering::kLess : o;
}

Ordering compare_with_float(const Value& integer, double d) {
  if (std::isnan(d)) {
    return Ordering::kUnordered;
  }
  if (std::isinf(d)) {
    return d > 0 ? Ordering::kLess : Ordering::kGreater;
  }
  const double whole = std::trunc(d);
  const int order = to_big(integer).compare(BigInt::from_double(whole));
  if (order != 0 || whole == d) {
    return order_of(order);
  }
  return d > whole ? Ordering::kLess : Ordering::kGreater;
}

Result<Value> finite_quotient(const Value& a, const Value& b) {
  const double divisor = to_double(b);
  if (divisor == 0) {
    return zero_division();
  }
  return Value::floating(to_double(a) / divisor);
}

// Python's float modulo: the result has the divisor's sign.
double floor_mod(double a, double b, double* quotient) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  if (div != 0) {
    const double floored = std::floor(div);
    *quotient = div - floored > 0.5 ? floored + 1 : floored;
  } else {
    *quotient = std::copysign(0.0, a / b);
  }
  return mod;
}

Result<Value> float_power(double a, double b) {
  if (a == 0 && b < 0) {
    return raise("0.0 cannot be raised to a negative power");
  }
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    return raise("a negative number to a fractional power is complex, which templates cannot use");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    return raise("float power is out of range");
  }
  return Value::floating(result);
}

Result<Value> float_arithmetic(Arithmetic op, double a, double b) {
  double quotient = 0;
  switch (op) {
    case Arithmetic::kAdd:
      return Value::floating(a + b);
    case Arithmetic::kSub:
      return Value::floating(a - b);
    case Arithmetic::kMul:
      return Value::floating(a * b);
    case Arithmetic::kPow:
      return float_power(a, b);
    default:
      break;
  }
  if (b == 0) {
    return zero_division();
  }
  if (op == Arithmetic::kDiv) {
    return Value::floating(a / b);
  }
  const double mod = floor_mod(a, b, &quotient);
  return Value::floating(op == Arithmetic::kMod ? mod : quotient);
}

Result<Value> integer_power(const Value& a, const Value& b, Heap& heap) {
  const BigInt base = to_big(a);
  const BigInt exponent = to_big(b);
  if (exponent.is_negative()) {
    if (base.is_zero()) {
      return raise("0.0 cannot be raised to a negative power");
    }
    return float_power(to_double(a), to_double(b));
  }
  std::int64_t n = 0;
  if (base.num_bits() <= 1) {
    const bool keep_sign = exponent.is_odd();
    const bool one = exponent.is_zero() || !base.is_zero();
    return Value::integer(!one ? 0 : base.is_negative() && keep_sign ? -1 : 1);
  }
  if (!exponent.to_int64(&n) || n > kMaxIntegerBits || base.num_bits() * n > kMaxIntegerBits) {
    return raise("integer power has more than 65536 bits");
  }
  heap.charge_steps(base.num_bits() * n / 64);
  return heap.make_integer(base.power(n));
}

Result<Value> big_arithmetic(Arithmetic op, const Value& a, const Value& b, Heap& heap) {
  const BigInt x = to_big(a);
  const BigInt y = to_big(b);
  if (x.num_bits() + y.num_bits() > kMaxIntegerBits) {
    return raise("integer has more than 65536 bits");
  }
  heap.charge_steps((x.num_bits() + y.num_bits()) / 64);
  if (op == Arithmetic::kAdd) {
    return heap.make_integer(x + y);
  }
  if (op == Arithmetic::kSub) {
    return heap.make_integer(x - y);
  }
  if (op == Arithmetic::kMul) {
    return heap.make_integer(x * y);
  }
  BigInt quotient;
  BigInt remainder;
  BigInt::divide(x, y, &quotient, &remainder);
  return heap.make_integer(op == Arithmetic::kMod ? remainder : quotient);
}

bool small_arithmetic(Arithmetic op, std::int64_t a, std::int64_t b, std::int64_t* out) {
  switch (op) {
    case Arithmetic::kAdd:
      return !__builtin_add_overflow(a, b, out);
    case Arithmetic::kSub:
      return !__builtin_sub_overflow(a, b, out);
    case Arithmetic::kMul:
      return !__builtin_mul_overflow(a, b, out);
    default:
      break;
  }
  if (b == -1) {
    *out = 0;
    return op == Arithmetic::kMod || !__builtin_sub_overflow(std::int64_t{0}, a, out);
  }
  std::int64_t quotient = a / b;
  std::int64_t rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    --quotient;
    rest += b;
  }
  *out = op == Arithmetic::kMod ? rest : quotient;
  return true;
}

// Removes underscores that stand between two digits; false if one stands elsewhere.
bool without_underscores(std::string_view text, std::string* out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out->push_back(text[i]);
      continue;
    }
    const auto digit = [&](std::size_t at) {
      return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) {
      return false;
    }
  }
  return true;
}

// Decimal digits of other scripts count as digits in int() and float().
std::string to_ascii_digits(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, &at);
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (is_decimal(c)) {
      // Decimal digits come in runs of ten; the run starts where the class starts or a multiple.
      char32_t zero = c;
      while (c - zero < 9 && is_decimal(zero - 1)) {
        --zero;
      }
      out.push_back(static_cast<char>('0' + (c - zero) % 10));
    } else {
      out.push_back('?');
    }
  }
  return out;
}

std::string_view stripped(std::string_view text) {
  const Span span = strip_space(text, Side::kBoth);
  return text.substr(span.begin, span.end - span.begin);
}

int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') {
    return 0;
  }
  const char c = static_cast<char>(text[1] | 0x20);
  return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
}

}  // namespace

BigInt to_big(const Value& integer) {
  return integer.is(Kind::kBigInt) ? integer.big() : BigInt(integer.i);
}

double to_double(const Value& number) {
  switch (number.kind) {
    case Kind::kFloat:
      return number.f;
    case Kind::kBigInt:
      return number.big().to_double();
    default:
      return static_cast<double>(number.i);
  }
}

Ordering compare_numbers(const Value& a, const Value& b) {
  if (a.is(Kind::kFloat) && b.is(Kind::kFloat)) {
    if (std::isnan(a.f) || std::isnan(b.f)) {
      return Ordering::kUnordered;
    }
    return order_of(a.f < b.f ? -1 : a.f > b.f ? 1 : 0);
  }
  if (a.is(Kind::kFloat)) {
    return flip(compare_with_float(b, a.f));
  }
  if (b.is(Kind::kFloat)) {
    return compare_with_float(a, b.f);
  }
  if (a.is(Kind::kBigInt) || b.is(Kind::kBigInt)) {
    return order_of(to_big(a).compare(to_big(b)));
  }
  return order_of(a.i < b.i ? -1 : a.i > b.i ? 1 : 0);
}

Result<Value> arithmetic(Arithmetic op, const Value& a, const Value& b, Heap& heap) {
  if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
    const double x = to_double(a);
    const double y = to_double(b);
    if ((std::isinf(x) && !a.is(Kind::kFloat)) || (std::isinf(y) && !b.is(Kind::kFloat))) {
      return raise("integer is too large to convert to a float");
    }
    return float_arithmetic(op, x, y);
  }
  if (op == Arithmetic::kPow) {
    return integer_power(a, b, heap);
  }
  const bool divides = op == Arithmetic::kFloorDiv || op == Arithmetic::kMod;
  if (divides && to_big(b).is_zero()) {
    return zero_division();
  }
  if (op == Arithmetic::kDiv) {
    return finite_quotient(a, b);
  }
  std::int64_t small = 0;
  if (!a.is(Kind::kBigInt) && !b.is(Kind::kBigInt) && small_arithmetic(op, a.i, b.i, &small)) {
    return Value::integer(small);
  }
  return big_arithmetic(op, a, b, heap);
}

Result<Value> negate(const Value& number, Heap& heap) {
  if (number.is(Kind::kFloat)) {
    return Value::floating(-number.f);
  }
  return heap.make_integer(-to_big(number));
}

bool parse_integer(std::string_view text, std::int64_t base, BigInt* out) {
  const std::string plain = to_ascii_digits(stripped(text));
  std::string_view rest = plain;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    rest.remove_prefix(1);
  }
  const int prefix = prefix_base(rest);
  const bool literal = base == 0;
  if (prefix != 0 && (base == 0 || base == prefix)) {
    rest.remove_prefix(2);
    base = prefix;
    if (!rest.empty() && rest[0] == '_') {
      rest.remove_prefix(1);
    }
  } else if (base == 0) {
    base = 10;
  }
  std::string digits;
  if (rest.empty() || base < 2 || base > 36 || !without_underscores(rest, &digits)) {
    return false;
  }
  bool all_zero = true;
  for (const char c : digits) {
    const auto u = static_cast<unsigned char>(c);
    const int value = std::isdigit(u) != 0 ? c - '0' : std::isalpha(u) != 0 ? (c | 0x20) - 87 : 99;
    if (value >= base) {
      return false;
    }
    all_zero = all_zero && value == 0;
  }
  if (literal && prefix == 0 && digits.size() > 1 && digits[0] == '0' && !all_zero) {
    return false;
  }
  constexpr std::size_t kMaxDigits = 4300;  // Python's limit for conversions between bases
  if ((base & (base - 1)) != 0 ? digits.size() > kMaxDigits
                               : digits.size() > static_cast<std::size_t>(kMaxIntegerBits)) {
    return false;
  }
  const BigInt magnitude = BigInt::from_digits(digits, static_cast<int>(base));
  *out = negative ? -magnitude : magnitude;
  return true;
}

bool parse_float(std::string_view text, double* out) {
  std::string plain;
  if (!without_underscores(to_ascii_digits(stripped(text)), &plain)) {
    return false;
  }
  std::string_view rest = plain;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    rest.remove_prefix(1);
  }
  const std::string lower = to_lower_ascii(rest);
  double value = 0;
  if (lower == "inf" || lower == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (lower == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (lower.empty() ||
        (std::isdigit(static_cast<unsigned char>(lower[0])) == 0 && lower[0] != '.')) {
      return false;
    }
    const char* end = lower.data() + lower.size();
    const auto [stop, error] = std::from_chars(lower.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) {
      return false;
    }
    if (error == std::errc::result_out_of_range) {
      // Beyond the range of a double: a negative exponent rounds to zero, a positive to infinity.
      const std::size_t e = lower.find('e');
      const bool tiny =
          e != std::string::npos ? lower[e + 1] == '-' : lower[0] == '0' || lower[0] == '.';
      value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    }
  }
  *out = negative ? -value : value;
  return true;
}

double round_to(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 323) {
    return value;
  }
  if (digits < -308) {
    return std::copysign(0.0, value);
  }
  if (digits >= 0) {
    std::array<char, 800> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                            std::chars_format::fixed, static_cast<int>(digits));
    double out = value;
    if (error == std::errc()) {
      std::from_chars(text.data(), end, out);
    }
    return out;
  }
  // To tens, hundreds, ...: to_chars rounds the scientific form exactly, ties to even.
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  const double scaled = value / scale;
  double rounded = std::nearbyint(scaled);
  if (std::fabs(scaled - std::trunc(scaled)) == 0.5) {
    rounded = 2 * std::round(scaled / 2);
  }
  return rounded * scale;
}

}  // namespace plumb::jinja
