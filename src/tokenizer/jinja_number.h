// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/status.h"
#include "tokenizer/jinja_value.h"

namespace plumb::jinja {

enum class Ordering : unsigned char { kLess, kEqual, kGreater, kUnordered };

/// Exact comparison across booleans, integers of any size and floats. Requires two numbers.
Ordering compare_numbers(const Value& a, const Value& b);

enum class Arithmetic : unsigned char { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };

/// Python's arithmetic on two numbers: integers exact, `/` a float, `//` and `%` floored.
/// Errors: kInvalidArgument on division by zero, overflow of a float, or an integer beyond 64
/// Kibit.
Result<Value> arithmetic(Arithmetic op, const Value& a, const Value& b, Heap& heap);
Result<Value> negate(const Value& number, Heap& heap);

BigInt to_big(const Value& integer);    ///< Requires a boolean or an integer
double to_double(const Value& number);  ///< Requires a number

/// Python's int(text, base): blanks around, a sign, underscores between digits, a base prefix.
bool parse_integer(std::string_view text, std::int64_t base, BigInt* out);
/// Python's float(text): decimal, exponent, inf, nan, underscores between digits.
bool parse_float(std::string_view text, double* out);
/// Python's round(x, digits) for floats: the decimal that is nearest to the exact value.
double round_to(double value, std::int64_t digits);

}  // namespace plumb::jinja
