// SPDX-License-Identifier: Apache-2.0
#include "grammar/regex_class.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "grammar/code_points.h"
#include "grammar/unicode_classes.h"

namespace plumb {
namespace {

using Ranges = std::vector<CodePointRange>;

Ranges digit_ranges() {
  return {{'0', '9'}};
}

Ranges word_chars() {
  return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
}

// White space and line terminators of ECMAScript.
Ranges spaces() {
  return {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

CharSet one(char32_t c) {
  return {{{c, c}}, {}, false};
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool is_ascii_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_surrogate(char32_t c, char32_t first) {
  return c >= first && c < first + 0x400;
}

constexpr char32_t kHighSurrogate = 0xD800;
constexpr char32_t kLowSurrogate = 0xDC00;

}  // namespace

Status regex_error(Code code, std::string_view what, std::size_t offset) {
  const std::string_view fault = code == Code::kUnsupported ? " is not supported" : "";
  return {code, "regex: " + std::string(what) + std::string(fault) + " at offset " +
                    std::to_string(offset)};
}

RegexId char_set_regex(const CharSet& chars, bool ignore_case, RegexSet* set) {
  Ranges all = ignore_case ? with_other_cases(chars.written) : chars.written;
  all.insert(all.end(), chars.named.begin(), chars.named.end());
  return chars.is_negated ? set->other_char(all) : set->char_class(all);
}

bool RegexClassParser::take(std::size_t* pos, std::string_view text) const {
  const bool found = pattern_.substr(*pos).starts_with(text);
  *pos += found ? text.size() : 0;
  return found;
}

Result<CharSet> RegexClassParser::parse_class(std::size_t* pos) {
  const std::size_t begin = *pos;
  ++*pos;
  CharSet out;
  out.is_negated = take(pos, "^");
  if (pattern_.substr(*pos).starts_with("]")) {
    return regex_error(Code::kInvalidArgument,
                       "']' at the start of a class is read differently by different engines; "
                       "write \\]",
                       *pos);
  }
  while (!take(pos, "]")) {
    if (*pos >= pattern_.size()) {
      return regex_error(Code::kInvalidArgument, "class is not closed", begin);
    }
    const std::size_t item_begin = *pos;
    PLUMB_ASSIGN(CharSet first, parse_item(pos));
    const bool is_range = pattern_.substr(*pos).starts_with("-") &&
                          !pattern_.substr(*pos).starts_with("-]") && *pos + 1 < pattern_.size();
    if (is_range) {
      ++*pos;
      PLUMB_ASSIGN(const CharSet last, parse_item(pos));
      if (first.written.size() != 1 || last.written.size() != 1) {
        return regex_error(Code::kInvalidArgument, "range has a class for a bound", item_begin);
      }
      if (last.written[0].first < first.written[0].first) {
        return regex_error(Code::kInvalidArgument, "range has its bounds in the wrong order",
                           item_begin);
      }
      first.written[0].last = last.written[0].first;
    }
    out.written.insert(out.written.end(), first.written.begin(), first.written.end());
    out.named.insert(out.named.end(), first.named.begin(), first.named.end());
  }
  return out;
}

Result<CharSet> RegexClassParser::parse_item(std::size_t* pos) {
  if (*pos >= pattern_.size()) {
    return regex_error(Code::kInvalidArgument, "class is not closed", *pos);
  }
  if (pattern_[*pos] == '\\') {
    return parse_escape(pos, /*in_class=*/true);
  }
  for (const std::string_view posix : {"[:", "[.", "[="}) {
    if (pattern_.substr(*pos).starts_with(posix)) {
      return regex_error(Code::kUnsupported, "POSIX class", *pos);
    }
  }
  const Utf8Char c = decode_utf8(pattern_.substr(*pos));
  *pos += static_cast<std::size_t>(c.num_bytes);
  return one(c.code_point);
}

Result<CharSet> RegexClassParser::parse_escape(std::size_t* pos, bool in_class) {
  const std::size_t begin = *pos;
  ++*pos;
  if (*pos >= pattern_.size()) {
    return regex_error(Code::kInvalidArgument, "backslash escapes nothing", begin);
  }
  const char letter = pattern_[*pos];
  if (is_ascii_letter_or_digit(letter)) {
    ++*pos;
    return parse_letter(letter, pos, begin, in_class);
  }
  const Utf8Char c = decode_utf8(pattern_.substr(*pos));
  *pos += static_cast<std::size_t>(c.num_bytes);
  return one(c.code_point);
}

Result<CharSet> RegexClassParser::parse_letter(char letter, std::size_t* pos, std::size_t begin,
                                               bool in_class) {
  switch (letter) {
    case 'd':
      return CharSet{{}, digit_ranges(), false};
    case 'D':
      return CharSet{{}, other_ranges(digit_ranges()), false};
    case 'w':
      return CharSet{{}, word_chars(), false};
    case 'W':
      return CharSet{{}, other_ranges(word_chars()), false};
    case 's':
      return CharSet{{}, spaces(), false};
    case 'S':
      return CharSet{{}, other_ranges(spaces()), false};
    case 'p':
    case 'P':
      return parse_property(pos, begin);
    case 'b':
      if (in_class) {
        return one('\b');
      }
      break;
    default:
      break;
  }
  PLUMB_ASSIGN(const char32_t c, parse_code_point(letter, pos, begin));
  return one(c);
}

Result<CharSet> RegexClassParser::parse_property(std::size_t* pos, std::size_t begin) {
  const bool is_negated = pattern_[*pos - 1] == 'P';
  std::string_view name = pattern_.substr(*pos, 1);
  std::size_t end = *pos + 1;
  if (name == "{") {
    const std::size_t close = pattern_.find('}', *pos);
    if (close == std::string_view::npos) {
      return regex_error(Code::kInvalidArgument, "property is not closed", begin);
    }
    name = pattern_.substr(*pos + 1, close - *pos - 1);
    end = close + 1;
  }
  const Ranges* const ranges = property_ranges(name);
  if (ranges == nullptr) {
    return regex_error(Code::kUnsupported, "property \\p{" + std::string(name.substr(0, 40)) + "}",
                       begin);
  }
  *pos = end;
  return CharSet{{}, is_negated ? other_ranges(*ranges) : *ranges, false};
}

// Asking for every code point takes a while, so each property is looked up once.
const std::vector<CodePointRange>* RegexClassParser::property_ranges(std::string_view name) {
  const auto known = properties_.find(name);
  if (known != properties_.end()) {
    return &known->second;
  }
  std::optional<Ranges> ranges = category_ranges(name);
  return ranges.has_value() ? &properties_.emplace(name, *std::move(ranges)).first->second
                            : nullptr;
}

Result<char32_t> RegexClassParser::parse_code_point(char letter, std::size_t* pos,
                                                    std::size_t begin) {
  switch (letter) {
    case 't':
      return U'\t';
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 'f':
      return U'\f';
    case 'v':
      return U'\v';
    case '0':
      if (*pos < pattern_.size() && hex_value(pattern_[*pos]) >= 0 &&
          hex_value(pattern_[*pos]) < 10) {
        return regex_error(Code::kUnsupported, "octal escape", begin);
      }
      return U'\0';
    case 'x':
      return parse_hex(pos, 2, begin);
    case 'U':
      return parse_hex(pos, 8, begin);
    case 'c':
      if (*pos < pattern_.size() && is_ascii_letter_or_digit(pattern_[*pos]) &&
          pattern_[*pos] > '9') {
        return static_cast<char32_t>(pattern_[(*pos)++] % 32);
      }
      return regex_error(Code::kInvalidArgument, "\\c needs a letter", begin);
    case 'u': {
      PLUMB_ASSIGN(const char32_t high, parse_hex(pos, 4, begin));
      std::size_t next = *pos;
      if (is_surrogate(high, kHighSurrogate) && take(&next, "\\u")) {
        PLUMB_ASSIGN(const char32_t low, parse_hex(&next, 4, begin));
        if (is_surrogate(low, kLowSurrogate)) {
          *pos = next;
          return 0x10000 + ((high - kHighSurrogate) << 10) + (low - kLowSurrogate);
        }
      }
      return high;
    }
    default:
      return regex_error(Code::kInvalidArgument,
                         "escape \\" + std::string(1, letter) + " is not known", begin);
  }
}

// So many digits, or any number of them in braces.
Result<char32_t> RegexClassParser::parse_hex(std::size_t* pos, std::size_t num_digits,
                                             std::size_t begin) {
  const bool in_braces = take(pos, "{");
  char32_t value = 0;
  std::size_t num = 0;
  for (;
       *pos < pattern_.size() && hex_value(pattern_[*pos]) >= 0 && (in_braces || num < num_digits);
       ++*pos, ++num) {
    value = value * 16 + static_cast<char32_t>(hex_value(pattern_[*pos]));
    if (value > kMaxCodePoint) {
      return regex_error(Code::kInvalidArgument, "escape names no code point", begin);
    }
  }
  if (in_braces ? num == 0 || !take(pos, "}") : num != num_digits) {
    return regex_error(Code::kInvalidArgument, "escape lacks hexadecimal digits", begin);
  }
  return value;
}

}  // namespace plumb
