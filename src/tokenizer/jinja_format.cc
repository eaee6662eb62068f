// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "tokenizer/jinja_format_spec.h"
#include "tokenizer/jinja_methods.h"
#include "tokenizer/jinja_number.h"
#include "tokenizer/jinja_operators.h"

namespace plumb::jinja {

namespace {

// repr with every character beyond ASCII escaped.
Value ascii_repr(Interpreter& in, const Value& value) {
  StrBuilder out(in.heap());
  append_repr(&out, value);
  const Value text = out.take();
  std::string escaped;
  const std::string_view bytes = text.str();
  for (std::size_t at = 0; at < bytes.size();) {
    const auto c = static_cast<std::uint32_t>(next_code_point(bytes, &at));
    if (c < 0x80) {
      escaped.push_back(static_cast<char>(c));
      continue;
    }
    const int digits = c <= 0xFF ? 2 : c <= 0xFFFF ? 4 : 8;
    escaped += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
      escaped.push_back("0123456789abcdef"[(c >> shift) & 0xFU]);
    }
  }
  return in.heap().make_string(escaped, has_data(text));
}

Value repr_value(Interpreter& in, const Value& value) {
  StrBuilder out(in.heap());
  append_repr(&out, value);
  return out.take();
}

/// One rendering of `text % value`.
class PercentFormatter {
 public:
  PercentFormatter(Interpreter& in, const Value& text, const Value& value)
      : in_(in), text_(text), bytes_(text.str()), value_(value), out_(in.heap()) {
    is_tuple_ = value.is(Kind::kTuple);
    is_mapping_ = value.is(Kind::kList) || value.is(Kind::kDict) || value.is(Kind::kRange) ||
                  value.is_undefined();
  }

  Result<Value> run();

 private:
  struct Directive {
    FormatSpec spec;
    bool has_key = false;
    Value keyed;
  };

  char peek() const { return at_ < bytes_.size() ? bytes_[at_] : '\0'; }

  Status directive();
  Status parse_key(Directive* out);
  Status parse_flags(Directive* out);
  Status parse_size(std::int64_t* out);
  Result<Value> take();
  Status format(const Directive& directive, const Value& value);
  Status format_text(const Directive& directive, const Value& text);
  Status format_char(const Directive& directive, const Value& value);
  Status format_number(const Directive& directive, const Value& value);
  Result<std::string> integer_digits(const Directive& directive, const Value& value,
                                     std::string* prefix, bool* negative);

  Interpreter& in_;
  const Value& text_;
  std::string_view bytes_;
  const Value& value_;
  StrBuilder out_;
  std::size_t at_ = 0;
  std::size_t next_arg_ = 0;
  bool is_tuple_ = false;
  bool is_mapping_ = false;
};

Result<Value> PercentFormatter::take() {
  if (is_tuple_ && next_arg_ < value_.list().items.size()) {
    return value_.list().items[next_arg_++];
  }
  if (!is_tuple_ && next_arg_ == 0) {
    ++next_arg_;
    return value_;
  }
  return raise("not enough arguments for format string");
}

Status PercentFormatter::parse_key(Directive* out) {
  if (peek() != '(') {
    return {};
  }
  const std::size_t begin = ++at_;
  int open = 1;
  for (; at_ < bytes_.size(); ++at_) {
    open += bytes_[at_] == '(' ? 1 : bytes_[at_] == ')' ? -1 : 0;
    if (open == 0) {
      break;
    }
  }
  if (open != 0) {
    return raise("incomplete format key");
  }
  const Value key = substring(text_, begin, at_++ - begin);
  if (value_.is_undefined()) {
    return Interpreter::undefined_error(value_);
  }
  const Value* found = value_.is(Kind::kDict) ? value_.dict().find(key, in_.heap()) : nullptr;
  if (found == nullptr) {
    return raise(value_.is(Kind::kDict) ? "format key '" + std::string(key.str()) + "' is missing"
                                        : "format requires a mapping");
  }
  out->has_key = true;
  out->keyed = *found;
  return {};
}

Status PercentFormatter::parse_size(std::int64_t* out) {
  if (peek() == '*') {
    ++at_;
    PLUMB_ASSIGN(const Value size, take());
    if (!to_index(size, out)) {
      return raise("* wants an integer");
    }
  } else {
    std::int64_t number = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      number = std::min<std::int64_t>(number * 10 + (peek() - '0'), INT32_MAX);
    }
    *out = number;
  }
  const std::int64_t magnitude = *out < 0 ? -std::max(*out, -INT64_MAX) : *out;
  if (magnitude > 1'000'000 || !in_.heap().has_room(magnitude)) {
    return {Code::kResourceExhausted, "format width is larger than 1000000"};
  }
  return {};
}

Status PercentFormatter::parse_flags(Directive* out) {
  for (;; ++at_) {
    const char c = peek();
    if (c == '-') {
      out->spec.align = '<';
    } else if (c == '+' || c == ' ') {
      out->spec.sign = c == '+' || out->spec.sign == '+' ? '+' : ' ';
    } else if (c == '#') {
      out->spec.alternate = true;
    } else if (c == '0') {
      out->spec.zero_padded = true;
    } else {
      break;
    }
  }
  PLUMB_RETURN_IF_ERROR(parse_size(&out->spec.width));
  if (out->spec.width < 0) {
    out->spec.align = '<';
    out->spec.width = -out->spec.width;
  }
  if (peek() == '.') {
    ++at_;
    PLUMB_RETURN_IF_ERROR(parse_size(&out->spec.precision));
    out->spec.precision = std::max<std::int64_t>(out->spec.precision, 0);
  }
  if (peek() == 'h' || peek() == 'l' || peek() == 'L') {
    ++at_;
  }
  return {};
}

Status PercentFormatter::directive() {
  Directive directive;
  PLUMB_RETURN_IF_ERROR(parse_key(&directive));
  PLUMB_RETURN_IF_ERROR(parse_flags(&directive));
  if (at_ >= bytes_.size()) {
    return raise("incomplete format");
  }
  directive.spec.type = bytes_[at_++];
  if (directive.spec.type == '%') {
    out_.append("%", false);
    return {};
  }
  Value value = directive.keyed;
  if (!directive.has_key) {
    PLUMB_ASSIGN(value, take());
  }
  return format(directive, value);
}

Status PercentFormatter::format_text(const Directive& directive, const Value& text) {
  const FormatSpec& spec = directive.spec;
  const std::size_t bytes =
      spec.precision < 0 ? text.size : byte_offset(text.str(), spec.precision);
  const Value part = substring(text, 0, bytes);
  const std::int64_t missing = std::max<std::int64_t>(0, spec.width - num_code_points(part.str()));
  const std::string blanks(static_cast<std::size_t>(missing), ' ');
  out_.append(spec.align == '<' ? "" : blanks, false);
  out_.append(part);
  out_.append(spec.align == '<' ? blanks : "", false);
  return {};
}

Status PercentFormatter::format_char(const Directive& directive, const Value& value) {
  std::int64_t code = 0;
  if (text_.markup) {
    return raise("%c does not go with marked-safe text");
  }
  if (value.is_string() && num_code_points(value.str()) == 1) {
    return format_text(directive, value);
  }
  if (!to_index(value, &code) || code < 0 || code > 0x10FFFF) {
    return raise("%c requires a code point or a single character");
  }
  std::string text;
  append_utf8(&text, static_cast<char32_t>(code));
  return format_text(directive, in_.heap().make_string(text, false));
}

Result<std::string> PercentFormatter::integer_digits(const Directive& directive, const Value& value,
                                                     std::string* prefix, bool* negative) {
  const char type = directive.spec.type;
  const bool decimal = type == 'd' || type == 'i' || type == 'u';
  // In marked-safe text arguments come wrapped, and the wrapper only converts to decimal numbers.
  const bool wrapped = text_.markup && !decimal;
  if (wrapped || !value.is_number() || (!decimal && value.is(Kind::kFloat))) {
    return value.is_undefined()
               ? Interpreter::undefined_error(value)
               : raise(std::string("%") + type + " format: an integer is required, not " +
                       std::string(type_name(value)));
  }
  if (value.is(Kind::kFloat) && !std::isfinite(value.f)) {
    return raise("cannot convert a float that is not finite to an integer");
  }
  const BigInt number = value.is(Kind::kFloat) ? BigInt::from_double(value.f) : to_big(value);
  *negative = number.is_negative();
  const int base = type == 'o' ? 8 : decimal ? 10 : 16;
  std::string digits = (*negative ? -number : number).to_text(base);
  if (directive.spec.alternate && !decimal) {
    *prefix = std::string("0") + type;
  }
  if (type == 'X') {
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
  }
  const auto precision =
      static_cast<std::size_t>(std::max<std::int64_t>(directive.spec.precision, 0));
  if (digits.size() < precision) {
    digits.insert(0, precision - digits.size(), '0');
  }
  return digits;
}

Status PercentFormatter::format_number(const Directive& directive, const Value& value) {
  FormatSpec spec = directive.spec;
  std::string prefix;
  std::string digits;
  bool negative = false;
  if (std::string_view("eEfFgG").find(spec.type) != std::string_view::npos) {
    if (!value.is_number()) {
      return value.is_undefined()
                 ? Interpreter::undefined_error(value)
                 : raise("must be a real number, not " + std::string(type_name(value)));
    }
    const double real = to_double(value);
    negative = std::signbit(real) && !std::isnan(real);
    digits = float_digits(std::fabs(real), spec.type, spec.precision < 0 ? 6 : spec.precision,
                          spec.alternate);
  } else {
    PLUMB_ASSIGN(digits, integer_digits(directive, value, &prefix, &negative));
  }
  const std::string sign = negative ? "-" : spec.sign != '\0' ? std::string(1, spec.sign) : "";
  spec.fill = spec.zero_padded && spec.align != '<' ? U'0' : U' ';
  out_.append(pad_field(spec, sign + prefix, digits, '>'), false);
  return {};
}

Status PercentFormatter::format(const Directive& directive, const Value& value) {
  switch (directive.spec.type) {
    case 's':
      return format_text(directive, text_.markup ? in_.escape(value) : to_str(value, in_.heap()));
    case 'r':
      return format_text(
          directive, text_.markup ? in_.escape(repr_value(in_, value)) : repr_value(in_, value));
    case 'a':
      return format_text(
          directive, text_.markup ? in_.escape(ascii_repr(in_, value)) : ascii_repr(in_, value));
    case 'c':
      return format_char(directive, value);
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      return format_number(directive, value);
    default:
      return raise(std::string("unsupported format character '") + directive.spec.type + "'");
  }
}

Result<Value> PercentFormatter::run() {
  while (at_ < bytes_.size() && !out_.exhausted()) {
    const std::size_t percent = std::min(bytes_.find('%', at_), bytes_.size());
    out_.append(text_, at_, percent - at_);
    at_ = percent;
    if (at_ < bytes_.size()) {
      ++at_;
      PLUMB_RETURN_IF_ERROR(directive());
    }
  }
  const bool left_over =
      is_tuple_ ? next_arg_ < value_.list().items.size() : next_arg_ == 0 && !is_mapping_;
  if (left_over) {
    return raise("not all arguments converted during string formatting");
  }
  Value result = out_.take();
  result.markup = text_.markup;
  return result;
}

/// One rendering of text.format(...).
class BraceFormatter {
 public:
  BraceFormatter(Interpreter& in, const Value& text, const Args& args, const Value* mapping)
      : in_(in), text_(text), args_(args), mapping_(mapping) {}

  Result<Value> format(const Value& text, int depth);

 private:
  Status field(const Value& text, std::size_t* at, int depth, StrBuilder* out);
  Result<Value> lookup(const Value& name);
  Result<Value> first_value(const Value& name);
  Result<Value> lookup_rest(const Value& name, std::size_t at, Value object);
  Status convert_and_append(Value value, char conversion, const Value& spec, StrBuilder* out);

  Interpreter& in_;
  const Value& text_;
  const Args& args_;
  const Value* mapping_;
  std::int64_t next_auto_ = 0;  ///< -1 once fields are numbered by hand
};

Result<Value> BraceFormatter::first_value(const Value& name) {
  const std::string_view text = name.str();
  std::int64_t index = 0;
  const bool automatic = text.empty();
  const bool number = automatic || std::all_of(text.begin(), text.end(),
                                               [](char c) { return c >= '0' && c <= '9'; });
  if (number) {
    if (automatic ? next_auto_ < 0 : next_auto_ > 0) {
      return raise("cannot mix automatic and manual field numbering");
    }
    if (automatic) {
      index = next_auto_++;
    } else if (!parse_int64(text, &index)) {
      return raise("field number is too large");
    } else {
      next_auto_ = -1;
    }
    if (index >= static_cast<std::int64_t>(args_.positional.size())) {
      return raise("format index " + std::to_string(index) + " is out of range");
    }
    return args_.positional[static_cast<std::size_t>(index)];
  }
  if (mapping_ != nullptr && mapping_->is(Kind::kDict)) {
    if (const Value* value = mapping_->dict().find(name, in_.heap())) {
      return *value;
    }
  }
  for (const auto& [key, value] : args_.named) {
    if (key.str() == text) {
      return value;
    }
  }
  return raise("format key '" + std::string(text.substr(0, 40)) + "' is missing");
}

Result<Value> BraceFormatter::lookup_rest(const Value& name, std::size_t at, Value object) {
  const std::string_view text = name.str();
  while (at < text.size()) {
    if (text[at] == '.') {
      const std::size_t end = std::min(text.find_first_of(".[", at + 1), text.size());
      if (end == at + 1) {
        return raise("empty attribute in format string");
      }
      PLUMB_ASSIGN(object, in_.attribute(object, substring(name, at + 1, end - at - 1)));
      at = end;
      continue;
    }
    const std::size_t end = text.find(']', at);
    if (text[at] != '[' || end == std::string_view::npos) {
      return raise("only '.' or '[' may follow ']' in a format field");
    }
    Value key = substring(name, at + 1, end - at - 1);
    std::int64_t index = 0;
    if (key.size == 0) {
      return raise("empty attribute in format string");
    }
    const bool digits = std::isdigit(static_cast<unsigned char>(key.str()[0])) != 0;
    if (digits && parse_int64(key.str(), &index)) {
      key = Value::integer(index);
    }
    PLUMB_ASSIGN(object, in_.item(object, key));
    at = end + 1;
  }
  return object;
}

Result<Value> BraceFormatter::lookup(const Value& name) {
  const std::size_t end = std::min(name.str().find_first_of(".["), std::size_t{name.size});
  PLUMB_ASSIGN(const Value object, first_value(substring(name, 0, end)));
  return lookup_rest(name, end, object);
}

Status BraceFormatter::convert_and_append(Value value, char conversion, const Value& spec,
                                          StrBuilder* out) {
  if (conversion == 'r') {
    value = repr_value(in_, value);
  } else if (conversion == 's') {
    value = to_str(value, in_.heap());
  } else if (conversion == 'a') {
    value = ascii_repr(in_, value);
  } else if (conversion != '\0') {
    return raise(std::string("unknown conversion specifier '") + conversion + "'");
  }
  const bool safe = value.is_string() && value.markup;
  if (text_.markup && safe && spec.size > 0) {
    return raise("unsupported format specification for markup");
  }
  PLUMB_ASSIGN(const Value formatted, format_with_spec(in_, value, spec.str()));
  out->append(text_.markup && !safe ? in_.escape(formatted) : formatted);
  return {};
}

Status BraceFormatter::field(const Value& text, std::size_t* at, int depth, StrBuilder* out) {
  const std::string_view bytes = text.str();
  const std::size_t begin = *at;
  int open = 1;
  int brackets = 0;
  std::size_t name_end = std::string_view::npos;
  std::size_t i = begin;
  for (; i < bytes.size(); ++i) {
    const char c = bytes[i];
    brackets += name_end == std::string_view::npos && c == '[' ? 1 : 0;
    if (brackets > 0 && name_end == std::string_view::npos) {
      brackets -= c == ']' ? 1 : 0;
      continue;
    }
    if ((c == '!' || c == ':') && name_end == std::string_view::npos) {
      name_end = i;
    }
    open += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (open == 0) {
      break;
    }
    if (c == '{' && name_end == std::string_view::npos) {
      return raise("unexpected '{' in field name");
    }
  }
  if (open != 0) {
    return raise("expected '}' before end of string");
  }
  const std::size_t end = i;
  *at = end + 1;
  name_end = std::min(name_end, end);
  char conversion = '\0';
  std::size_t spec_begin = name_end;
  if (spec_begin < end && bytes[spec_begin] == '!') {
    conversion = spec_begin + 1 < end ? bytes[spec_begin + 1] : '?';
    spec_begin += 2;
    if (spec_begin > end || (spec_begin < end && bytes[spec_begin] != ':')) {
      return raise("expected ':' after conversion specifier");
    }
  }
  spec_begin += spec_begin < end ? 1 : 0;
  PLUMB_ASSIGN(const Value value, lookup(substring(text, begin, name_end - begin)));
  PLUMB_ASSIGN(const Value spec, format(substring(text, spec_begin, end - spec_begin), depth + 1));
  return convert_and_append(value, conversion, spec, out);
}

Result<Value> BraceFormatter::format(const Value& text, int depth) {
  if (depth > 1 && text.str().find_first_of("{}") != std::string_view::npos) {
    return raise("max string recursion exceeded");
  }
  StrBuilder out(in_.heap());
  const std::string_view bytes = text.str();
  for (std::size_t at = 0; at < bytes.size() && !out.exhausted();) {
    const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    out.append(text, at, brace - at);
    at = brace;
    if (at == bytes.size()) {
      break;
    }
    const bool doubled = at + 1 < bytes.size() && bytes[at + 1] == bytes[at];
    if (doubled) {
      out.append(text, at, 1);
      at += 2;
    } else if (bytes[at] == '}') {
      return raise("single '}' encountered in format string");
    } else {
      ++at;
      PLUMB_RETURN_IF_ERROR(field(text, &at, depth, &out));
    }
  }
  return out.take();
}

}  // namespace

Result<Value> format_percent(Interpreter& in, const Value& text, const Value& value) {
  return PercentFormatter(in, text, value).run();
}

Result<Value> format_braces(Interpreter& in, const Value& text, const Args& args,
                            const Value* mapping) {
  PLUMB_ASSIGN(Value out, BraceFormatter(in, text, args, mapping).format(text, 0));
  out.markup = text.markup;
  return out;
}

}  // namespace plumb::jinja
