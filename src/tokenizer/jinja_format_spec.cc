// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_format_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

constexpr std::int64_t kMaxWidth = 1'000'000;

bool is_align(char32_t c) {
  return c == '<' || c == '>' || c == '=' || c == '^';
}

Status bad_spec(std::string_view spec) {
  return raise("invalid format specifier '" + std::string(spec.substr(0, 40)) + "'");
}

bool take_number(std::string_view spec, std::size_t* at, std::int64_t* out) {
  const std::size_t begin = *at;
  while (*at < spec.size() && spec[*at] >= '0' && spec[*at] <= '9') {
    ++*at;
  }
  return *at > begin && parse_int64(spec.substr(begin, *at - begin), out) && *out <= kMaxWidth;
}

Result<FormatSpec> parse_spec(std::string_view spec) {
  FormatSpec out;
  std::size_t at = 0;
  std::size_t after_fill = 0;
  const auto peek = [&](std::size_t i) { return i < spec.size() ? spec[i] : '\0'; };
  if (!spec.empty()) {
    const char32_t fill = next_code_point(spec, &after_fill);
    if (is_align(static_cast<unsigned char>(peek(after_fill)))) {
      out.fill = fill;
      out.align = spec[after_fill];
      at = after_fill + 1;
    } else if (is_align(fill)) {
      out.align = spec[0];
      at = 1;
    }
  }
  if (peek(at) == '+' || peek(at) == '-' || peek(at) == ' ') {
    out.sign = spec[at++];
  }
  if (peek(at) == 'z') {
    out.no_negative_zero = true;
    ++at;
  }
  if (peek(at) == '#') {
    out.alternate = true;
    ++at;
  }
  if (peek(at) == '0') {
    if (out.fill == 0) {
      out.fill = '0';
      out.zero_padded = out.align == '\0';
    }
    ++at;
  }
  const bool has_width = peek(at) >= '0' && peek(at) <= '9';
  if (has_width && !take_number(spec, &at, &out.width)) {
    return bad_spec(spec);
  }
  if (peek(at) == ',' || peek(at) == '_') {
    out.grouping = spec[at++];
  }
  if (peek(at) == '.') {
    ++at;
    if (!take_number(spec, &at, &out.precision)) {
      return bad_spec(spec);
    }
  }
  if (at < spec.size()) {
    out.type = spec[at++];
  }
  return at == spec.size() ? Result<FormatSpec>(out) : Result<FormatSpec>(bad_spec(spec));
}

std::string group_digits(std::string_view digits, char separator, std::size_t group) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) {
      out.push_back(separator);
    }
    out.push_back(digits[i]);
  }
  return out;
}

// Sign, prefix and digits into their field. `tail` is what follows the integer digits.
std::string lay_out_number(const FormatSpec& spec, const std::string& head, std::string digits,
                           const std::string& tail) {
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t group =
      spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b' ? 4 : 3;
  const bool zero_fill = spec.zero_padded || (spec.fill == '0' && spec.align == '=');
  std::string grouped = spec.grouping == '\0' ? digits : group_digits(digits, spec.grouping, group);
  while (zero_fill && head.size() + grouped.size() + tail.size() < width) {
    digits.insert(digits.begin(), '0');
    grouped = spec.grouping == '\0' ? std::string(width - head.size() - tail.size(), '0')
                                    : group_digits(digits, spec.grouping, group);
    if (spec.grouping == '\0') {
      grouped.replace(grouped.size() - digits.size() + 1, std::string::npos, digits.substr(1));
    }
  }
  return pad_field(spec, head, grouped + tail, '>');
}

std::string sign_text(const FormatSpec& spec, bool negative) {
  if (negative) {
    return "-";
  }
  return spec.sign == '+' || spec.sign == ' ' ? std::string(1, spec.sign) : "";
}

Result<Value> format_float(Interpreter& in, const Value& number, const FormatSpec& spec) {
  const double value = to_double(number);
  if (std::isinf(value) && !number.is(Kind::kFloat)) {
    return raise("integer is too large to convert to a float");
  }
  constexpr std::string_view kTypes("\0eEfFgGn%", 9);
  if (kTypes.find(spec.type) == std::string_view::npos) {
    return raise(std::string("unknown format code '") + spec.type + "' for a float");
  }
  std::string text;
  if (spec.type == '\0' && spec.precision < 0) {
    text = float_text(std::fabs(value));
  } else {
    const char type = spec.type == '%'                        ? 'f'
                      : spec.type == '\0' || spec.type == 'n' ? 'g'
                                                              : spec.type;
    text = float_digits(std::fabs(spec.type == '%' ? value * 100 : value), type,
                        spec.precision < 0 ? 6 : spec.precision, spec.alternate);
    const bool plain = text.find_first_of(".einf") == std::string::npos;
    if (spec.type == '\0' && plain) {
      text += ".0";
    }
    if (spec.type == '%') {
      text += "%";
    }
  }
  bool negative = std::signbit(value) && !std::isnan(value);
  if (spec.no_negative_zero && text.find_first_of("123456789i") == std::string::npos) {
    negative = false;
  }
  const std::size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  return in.heap().make_string(
      lay_out_number(spec, sign_text(spec, negative), text.substr(0, whole), text.substr(whole)),
      false);
}

Result<Value> format_integer(Interpreter& in, const Value& value, const FormatSpec& spec) {
  if (spec.type != '\0' && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    return format_float(in, value, spec);
  }
  if (spec.precision >= 0 || spec.no_negative_zero) {
    return raise("precision is not allowed for integers");
  }
  constexpr std::string_view kTypes("\0dbcoxXn", 8);
  if (kTypes.find(spec.type) == std::string_view::npos) {
    return raise(std::string("unknown format code '") + spec.type + "' for an integer");
  }
  const BigInt number = to_big(value);
  if (spec.type == 'c') {
    std::int64_t code = 0;
    std::string text;
    if (!number.to_int64(&code) || code < 0 || code > 0x10FFFF || spec.sign != '\0') {
      return raise("format code 'c' needs a code point and no sign");
    }
    append_utf8(&text, static_cast<char32_t>(code));
    return in.heap().make_string(pad_field(spec, "", text, '>'), false);
  }
  const int base = spec.type == 'b'            ? 2
                   : spec.type == 'o'          ? 8
                   : (spec.type | 0x20) == 'x' ? 16
                                               : 10;
  std::string digits = (number.is_negative() ? -number : number).to_text(base);
  std::string head = sign_text(spec, number.is_negative());
  if (spec.alternate && base != 10) {
    head += std::string("0") + spec.type;
  }
  if (spec.type == 'X') {
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
  }
  return in.heap().make_string(lay_out_number(spec, head, digits, ""), false);
}

Result<Value> format_string(Interpreter& in, const Value& value, const FormatSpec& spec) {
  if ((spec.type != '\0' && spec.type != 's') || spec.align == '=' || spec.sign != '\0' ||
      spec.alternate || spec.grouping != '\0' || spec.no_negative_zero) {
    return raise("format specifier is not allowed for a string");
  }
  const std::size_t bytes =
      spec.precision < 0 ? value.size : byte_offset(value.str(), spec.precision);
  const Value part = substring(value, 0, bytes);
  const std::int64_t missing = std::max<std::int64_t>(0, spec.width - num_code_points(part.str()));
  std::string fill;
  append_utf8(&fill, spec.fill == 0 ? U' ' : spec.fill);
  const std::int64_t left = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
  Value out = repeat_fill(in, part, left, missing - left, in.heap().make_string(fill, false));
  out.markup = false;
  return out;
}

}  // namespace

std::string float_digits(double value, char type, std::int64_t precision, bool alternate) {
  const char lower = static_cast<char>(type | 0x20);
  const auto format = lower == 'f'   ? std::chars_format::fixed
                      : lower == 'e' ? std::chars_format::scientific
                                     : std::chars_format::general;
  if (lower == 'g' && precision == 0) {
    precision = 1;
  }
  std::string out(static_cast<std::size_t>(precision) + 340, '\0');
  const auto [end, error] = std::to_chars(out.data(), out.data() + out.size(), value, format,
                                          static_cast<int>(precision));
  out.resize(error == std::errc() ? static_cast<std::size_t>(end - out.data()) : 0);
  if (alternate && std::isfinite(value) && out.find('.') == std::string::npos) {
    out.insert(std::min(out.find('e'), out.size()), ".");
  }
  if (type != lower) {
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  }
  return out;
}

std::string pad_field(const FormatSpec& spec, const std::string& head, const std::string& text,
                      char default_align) {
  const std::int64_t missing = spec.width - num_code_points(head) - num_code_points(text);
  if (missing <= 0) {
    return head + text;
  }
  std::string fill;
  append_utf8(&fill, spec.fill == 0 ? U' ' : spec.fill);
  const auto repeat = [&fill](std::int64_t n) {
    std::string out;
    for (std::int64_t i = 0; i < n; ++i) {
      out += fill;
    }
    return out;
  };
  const char align = spec.align != '\0' ? spec.align : spec.zero_padded ? '=' : default_align;
  switch (align) {
    case '<':
      return head + text + repeat(missing);
    case '=':
      return head + repeat(missing) + text;
    case '^':
      return repeat(missing / 2) + head + text + repeat(missing - missing / 2);
    default:
      return repeat(missing) + head + text;
  }
}

Result<Value> format_with_spec(Interpreter& in, const Value& value, std::string_view text) {
  if (text.empty()) {
    return to_str(value, in.heap());
  }
  if (!value.is_number() && !value.is_string()) {
    return raise("'" + std::string(type_name(value)) + "' takes no format specifier");
  }
  PLUMB_ASSIGN(const FormatSpec spec, parse_spec(text));
  if (spec.grouping != '\0') {
    const bool based =
        spec.type != '\0' && std::string_view("boxX").find(spec.type) != std::string_view::npos;
    if (spec.type == 'n' || spec.type == 'c' || spec.type == 's' ||
        (spec.grouping == ',' && based)) {
      return raise("format: this grouping does not go with the type");
    }
  }
  if (!in.heap().has_room(spec.width + std::max<std::int64_t>(spec.precision, 0))) {
    return Status(Code::kResourceExhausted, "format width needs more memory than allowed");
  }
  if (value.is_string()) {
    return format_string(in, value, spec);
  }
  return value.is(Kind::kFloat) ? format_float(in, value, spec) : format_integer(in, value, spec);
}

}  // namespace plumb::jinja
