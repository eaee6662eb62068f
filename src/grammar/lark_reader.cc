// SPDX-License-Identifier: Apache-2.0
#include "grammar/lark_reader.h"

#include <algorithm>

#include "base/text.h"

namespace plumb {
namespace {

bool is_lark_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

bool is_lark_terminal(std::string_view name) {
  const std::size_t first = name.find_first_not_of("_0123456789");
  return first != std::string_view::npos && name[first] >= 'A' && name[first] <= 'Z';
}

bool is_lark_name(std::string_view name) {
  const bool has_capital =
      std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool has_small =
      std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return has_capital != has_small && !is_lark_digit(name.front());
}

bool LarkReader::at_definition() {
  const std::size_t begin = pos();
  while (take("?") || take("!")) {
    // Marks.
  }
  bool found = !take_name().empty();
  if (found && peek() == '{') {
    const std::size_t close = rest().find('}');
    found = close < rest().find('\n');
    advance(found ? close + 1 : 0);
  }
  if (found && take(".")) {
    while (is_lark_digit(peek()) || peek() == '-' || peek() == '+') {
      advance(1);
    }
  }
  skip_inline_blank();
  found = found && peek() == ':';
  go_back(begin);
  return found;
}

Status LarkReader::unsupported(const std::string& what, std::size_t offset,
                               const std::string& remedy) const {
  return {Code::kUnsupported, place(offset) + what + " is not supported" + remedy};
}

Result<std::int64_t> LarkReader::take_number(std::int64_t max) {
  const std::size_t begin = pos();
  const bool is_negative = take("-");
  if (!is_negative) {
    take("+");
  }
  const std::size_t digits = pos();
  std::int64_t value = 0;
  for (; is_lark_digit(peek()); advance(1)) {
    value = std::min(value * 10 + (peek() - '0'), max + 1);
  }
  if (pos() == digits) {
    return error("a number is expected", begin);
  }
  if (value > max) {
    return error("number exceeds the limit " + std::to_string(max), begin);
  }
  return is_negative ? -value : value;
}

Result<LarkReader::Literal> LarkReader::take_literal(std::size_t begin) {
  Literal out;
  for (; !take("\""); ++out.num_chars) {
    if (at_end() || peek() == '\n') {
      return error("literal is not closed", begin);
    }
    const std::size_t at = pos();
    if (take("\\")) {
      PLUMB_RETURN_IF_ERROR(take_escape(at, &out.bytes));
    } else {
      out.bytes += take_char();
    }
  }
  out.ignores_case = take("i");
  if (at_name()) {
    return error("'" + std::string(1, peek()) + "' is no flag of a literal, which has only i",
                 pos());
  }
  return out;
}

// Behind the backslash at `begin`.
Status LarkReader::take_escape(std::size_t begin, std::string* out) {
  static constexpr std::string_view kLetters = "nrtfv\"\\/'";
  static constexpr std::string_view kMeanings = "\n\r\t\f\v\"\\/'";
  const char letter = peek();
  const std::size_t known = at_end() ? std::string_view::npos : kLetters.find(letter);
  advance(at_end() ? 0 : 1);
  if (known != std::string_view::npos) {
    out->push_back(kMeanings[known]);
    return {};
  }
  const int num_digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (num_digits == 0) {
    return error("escape \\" + std::string(1, letter) + " is not known", begin);
  }
  PLUMB_ASSIGN(const char32_t c, take_hex(num_digits, begin));
  append_utf8(out, c);
  return {};
}

Result<LarkReader::Pattern> LarkReader::take_pattern(std::size_t begin) {
  Pattern out;
  out.begin = pos();
  const std::string_view text = rest();
  while (!at_end() && peek() != '/' && peek() != '\n') {
    const bool is_escape = peek() == '\\' && rest().size() > 1 && rest()[1] != '\n';
    advance(is_escape ? 2 : 1);
  }
  const std::string_view pattern = text.substr(0, pos() - out.begin);
  if (!take("/")) {
    return error("regular expression is not closed", begin);
  }
  std::string flags;
  for (; at_name(); advance(1)) {
    const char flag = peek();
    if (flag == 'm' || flag == 'x' || flag == 'l') {
      return unsupported("the flag " + std::string(1, flag) + " of a regular expression", pos());
    }
    if (flag != 'i' && flag != 's' && flag != 'u') {
      return error("'" + std::string(1, flag) + "' is no flag of a regular expression", pos());
    }
    if (flag != 'u') {
      flags.push_back(flag);
    }
  }
  const std::string open = flags.empty() ? "" : "(?" + flags + ")";
  out.prefix = open.size();
  out.text = open + std::string(pattern);
  return out;
}

}  // namespace plumb
