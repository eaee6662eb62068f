// SPDX-License-Identifier: Apache-2.0
#include "api/custom_input.h"

#include <array>

#include "base/json.h"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 4> kOpening{"{", "\"input\"", ":", "\""};
constexpr std::size_t kUnicodeEscape = 6;  // \uXXXX

bool is_json_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Bytes of the escape at the beginning of the text; 0 = more is needed to know.
std::size_t escape_bytes(std::string_view text) {
  if (text.size() < 2) {
    return 0;
  }
  if (text[1] != 'u') {
    return 2;
  }
  if (text.size() < kUnicodeEscape) {
    return 0;
  }
  const bool is_high =
      (text[2] == 'd' || text[2] == 'D') && text[3] >= '8' &&
      (text[3] <= '9' || text[3] == 'a' || text[3] == 'b' || text[3] == 'A' || text[3] == 'B');
  if (!is_high) {
    return kUnicodeEscape;
  }
  // The second half of the pair, if it follows.
  if (text.size() > kUnicodeEscape && text[kUnicodeEscape] != '\\') {
    return kUnicodeEscape;
  }
  if (text.size() > kUnicodeEscape + 1 && text[kUnicodeEscape + 1] != 'u') {
    return kUnicodeEscape;
  }
  return text.size() < 2 * kUnicodeEscape ? 0 : 2 * kUnicodeEscape;
}

// Bytes of the character at the beginning of the text; 0 = it is not whole.
std::size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : lead >= 0xC0U ? 2 : 1;
  return size <= text.size() ? size : 0;
}

}  // namespace

// True once the opening is read; kOther if the arguments begin in another way.
bool CustomInputReader::take_opening() {
  std::size_t at = 0;
  for (const std::string_view part : kOpening) {
    while (at < held_.size() && is_json_blank(held_[at])) {
      ++at;
    }
    const std::string_view found = std::string_view(held_).substr(at, part.size());
    if (!part.starts_with(found)) {
      state_ = State::kOther;
      return false;
    }
    if (found.size() < part.size()) {
      return false;  // more is to come
    }
    at += part.size();
  }
  held_.erase(0, at);
  state_ = State::kInString;
  return true;
}

std::string CustomInputReader::take_string() {
  std::string literal;  // of whole escapes
  std::size_t at = 0;
  while (at < held_.size() && held_[at] != '"') {
    const std::string_view rest = std::string_view(held_).substr(at);
    const std::size_t size = rest.front() == '\\' ? escape_bytes(rest) : character_bytes(rest);
    if (size == 0) {
      break;
    }
    literal.append(held_, at, size);
    at += size;
  }
  if (at < held_.size() && held_[at] == '"') {
    state_ = State::kAfter;
    at = held_.size();
  }
  held_.erase(0, at);
  const Result<Json> text = parse_json('"' + literal + '"');
  return text.ok() && text.value().is_string() ? text.value().as_string() : literal;
}

std::string CustomInputReader::push(std::string_view arguments) {
  if (state_ == State::kAfter) {
    return "";
  }
  held_ += arguments;
  if (state_ == State::kOpening) {
    take_opening();
  }
  return state_ == State::kInString ? take_string() : "";
}

std::string CustomInputReader::finish() {
  if (state_ == State::kAfter || state_ == State::kInString) {
    return "";  // half an escape is none
  }
  const Result<Json> arguments = parse_json(held_);
  const Json* input = arguments.ok() ? arguments.value().find("input") : nullptr;
  return input != nullptr && input->is_string() ? input->as_string() : held_;
}

}  // namespace plumb
