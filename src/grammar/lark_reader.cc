// SPDX-License-Identifier: Apache-2.0
#include "grammar/lark_reader.h"

#include <algorithm>

#include "base/text.h"
#include "grammar/code_points.h"

namespace plumb {
namespace {

bool is_lark_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

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

bool LarkReader::take(std::string_view token) {
  const bool found = looking_at(token);
  pos_ += found ? token.size() : 0;
  return found;
}

void LarkReader::skip_inline_blank() {
  while (peek() == ' ' || peek() == '\t') {
    ++pos_;
  }
}

void LarkReader::skip_blank() {
  for (; !at_end(); ++pos_) {
    if (peek() == '#' || looking_at("//")) {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    }
    if (at_end() || (peek() != ' ' && peek() != '\t' && peek() != '\n' && peek() != '\r')) {
      return;
    }
  }
}

bool LarkReader::at_name() const {
  return is_lark_name_char(peek());
}

std::string_view LarkReader::take_name() {
  const std::size_t begin = pos_;
  while (!at_end() && is_lark_name_char(peek())) {
    ++pos_;
  }
  return text_.substr(begin, pos_ - begin);
}

bool LarkReader::at_definition() {
  const std::size_t begin = pos_;
  while (peek() == '?' || peek() == '!') {
    ++pos_;
  }
  bool found = !take_name().empty();
  if (found && peek() == '{') {
    const std::size_t close = text_.find('}', pos_);
    const std::size_t line_end = text_.find('\n', pos_);
    found = close < line_end;
    pos_ = found ? close + 1 : pos_;
  }
  if (found && peek() == '.') {
    ++pos_;
    while (is_lark_digit(peek()) || peek() == '-' || peek() == '+') {
      ++pos_;
    }
  }
  skip_inline_blank();
  found = found && peek() == ':';
  pos_ = begin;
  return found;
}

std::string LarkReader::place(std::size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 = 0
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  return "lark: line " + std::to_string(line) + ", column " +
         std::to_string(offset - line_begin + 1) + ": ";
}

Status LarkReader::error(const std::string& what, std::size_t offset) const {
  return {Code::kInvalidArgument, place(offset) + what};
}

Status LarkReader::unsupported(const std::string& what, std::size_t offset,
                               const std::string& remedy) const {
  return {Code::kUnsupported, place(offset) + what + " is not supported" + remedy};
}

Result<std::int64_t> LarkReader::take_number(std::int64_t max) {
  const std::size_t begin = pos_;
  const bool is_negative = take("-");
  if (!is_negative) {
    take("+");
  }
  const std::size_t digits = pos_;
  std::int64_t value = 0;
  for (; is_lark_digit(peek()); ++pos_) {
    value = std::min(value * 10 + (peek() - '0'), max + 1);
  }
  if (pos_ == digits) {
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
    const std::size_t at = pos_;
    if (take("\\")) {
      PLUMB_RETURN_IF_ERROR(take_escape(at, &out.bytes));
      continue;
    }
    const auto size = static_cast<std::size_t>(decode_utf8(text_.substr(pos_)).num_bytes);
    out.bytes += text_.substr(pos_, size);
    pos_ += size;
  }
  if (peek() == 'i') {
    ++pos_;
    out.ignores_case = true;
  }
  if (is_lark_name_char(peek())) {
    return error("'" + std::string(1, peek()) + "' is no flag of a literal, which has only i",
                 pos_);
  }
  return out;
}

// Behind the backslash at `begin`.
Status LarkReader::take_escape(std::size_t begin, std::string* out) {
  static constexpr std::string_view kLetters = "nrtfv\"\\/'";
  static constexpr std::string_view kMeanings = "\n\r\t\f\v\"\\/'";
  const char letter = peek();
  const std::size_t known = at_end() ? std::string_view::npos : kLetters.find(letter);
  pos_ += at_end() ? 0 : 1;
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

Result<char32_t> LarkReader::take_hex(int num_digits, std::size_t begin) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  char32_t value = 0;
  for (int i = 0; i < num_digits; ++i, ++pos_) {
    const char c = peek() >= 'A' && peek() <= 'F' ? static_cast<char>(peek() + 32) : peek();
    const std::size_t digit = kDigits.find(c);
    if (at_end() || digit == std::string_view::npos) {
      return error("escape needs " + std::to_string(num_digits) + " hexadecimal digits", begin);
    }
    value = value * 16 + static_cast<char32_t>(digit);
  }
  if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
    return error("escape names no character", begin);
  }
  return value;
}

Result<LarkReader::Pattern> LarkReader::take_pattern(std::size_t begin) {
  Pattern out;
  out.begin = pos_;
  while (!at_end() && peek() != '/' && peek() != '\n') {
    pos_ += peek() == '\\' && pos_ + 1 < text_.size() && text_[pos_ + 1] != '\n' ? 2 : 1;
  }
  const std::string_view pattern = text_.substr(out.begin, pos_ - out.begin);
  if (!take("/")) {
    return error("regular expression is not closed", begin);
  }
  std::string flags;
  for (; is_lark_name_char(peek()); ++pos_) {
    const char flag = peek();
    if (flag == 'm' || flag == 'x' || flag == 'l') {
      return unsupported("the flag " + std::string(1, flag) + " of a regular expression", pos_);
    }
    if (flag != 'i' && flag != 's' && flag != 'u') {
      return error("'" + std::string(1, flag) + "' is no flag of a regular expression", pos_);
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
