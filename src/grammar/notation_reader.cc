// SPDX-License-Identifier: Apache-2.0
#include "grammar/notation_reader.h"

#include <algorithm>

#include "base/text.h"
#include "grammar/code_points.h"

namespace plumb {

Status NotationReader::check_text(std::int64_t max_bytes) const {
  const std::string name(notation_.name);
  if (std::ssize(text_) > max_bytes) {
    return {Code::kInvalidArgument, name + ": its " + std::to_string(text_.size()) +
                                        " bytes exceed the limit " + std::to_string(max_bytes)};
  }
  if (!is_valid_utf8(text_)) {
    return {Code::kInvalidArgument, name + ": it is not well-formed UTF-8"};
  }
  return {};
}

bool NotationReader::take(std::string_view token) {
  const bool found = looking_at(token);
  pos_ += found ? token.size() : 0;
  return found;
}

void NotationReader::skip_blank() {
  for (; !at_end(); ++pos_) {
    if (peek() == '#' || (!notation_.comment.empty() && looking_at(notation_.comment))) {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    }
    if (at_end() || (peek() != ' ' && peek() != '\t' && peek() != '\n' && peek() != '\r')) {
      return;
    }
  }
}

void NotationReader::skip_inline_blank() {
  while (peek() == ' ' || peek() == '\t') {
    ++pos_;
  }
}

bool NotationReader::at_name() const {
  const char c = peek();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         notation_.name_marks.find(c) != std::string_view::npos;
}

std::string_view NotationReader::take_name() {
  const std::size_t begin = pos_;
  while (at_name()) {
    ++pos_;
  }
  return text_.substr(begin, pos_ - begin);
}

std::string_view NotationReader::take_char() {
  const auto size = static_cast<std::size_t>(decode_utf8(rest()).num_bytes);
  const std::string_view bytes = text_.substr(pos_, size);
  pos_ += size;
  return bytes;
}

Result<char32_t> NotationReader::take_hex(int num_digits, std::size_t begin) {
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

bool NotationReader::take_quantifier(std::int64_t* min, std::int64_t* max) {
  const char mark = peek();
  if (mark != '?' && mark != '*' && mark != '+') {
    return false;
  }
  ++pos_;
  *min = mark == '+' ? 1 : 0;
  *max = mark == '?' ? 1 : kUnbounded;
  return true;
}

Status NotationReader::error(const std::string& what, std::size_t offset) const {
  return {Code::kInvalidArgument, place(offset) + what};
}

std::string NotationReader::place(std::size_t offset) const {
  return std::string(notation_.name) + ": " + place_in_text(text_, offset);
}

std::string place_in_text(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 = 0
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - line_begin + 1) +
         ": ";
}

}  // namespace plumb
