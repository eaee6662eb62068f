// SPDX-License-Identifier: Apache-2.0
#include "api/value_stream.h"

#include <algorithm>
#include <utility>

#include "api/marker_search.h"
#include "base/json.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxWordBytes = 4096;
constexpr std::string_view kControlEscapes = "\b\f\n\r\t";
constexpr std::string_view kControlLetters = "bfnrt";

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char32_t hex_value(std::string_view digits) {
  char32_t value = 0;
  for (const char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = value * 16 + static_cast<char32_t>(digit);
  }
  return value;
}

void append_hex_escape(char32_t value, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  *out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    *out += kDigits[(value >> static_cast<unsigned>(shift)) & 15U];
  }
}

// The JSON of a word: a number, or a constant in either spelling; empty if it is none.
std::string literal_of(const std::string& word) {
  if (word == "true" || word == "True") {
    return "true";
  }
  if (word == "false" || word == "False") {
    return "false";
  }
  if (word == "null" || word == "None") {
    return "null";
  }
  const Result<Json> number = parse_json(word);
  return number.ok() && number.value().is_number() ? word : "";
}

}  // namespace

std::size_t ValueStream::push(std::string_view bytes, std::string* out) {
  std::size_t at = 0;
  while (at < bytes.size() && state_ == State::kOpen) {
    const std::size_t taken = step(bytes.substr(at), out);
    if (taken == 0) {
      break;
    }
    at += taken;
  }
  return at;
}

std::size_t ValueStream::step(std::string_view bytes, std::string* out) {
  const char c = bytes.front();
  if (lexeme_ == Lexeme::kString) {
    return dialect_ == ValueDialect::kGemma ? in_quoted(bytes, out) : in_string(bytes, out);
  }
  if (lexeme_ == Lexeme::kWord) {
    if (is_word(c)) {
      word_ += c;
      if (word_.size() > kMaxWordBytes) {
        fail();
      }
      return 1;
    }
    end_word(out);
    return state_ == State::kOpen ? step(bytes, out) : 0;
  }
  if (is_space(c)) {
    if (dialect_ == ValueDialect::kJson && !frames_.empty()) {
      (held_.empty() ? *out : held_) += c;
    }
    return 1;
  }
  if (dialect_ == ValueDialect::kGemma && bytes.size() < quote_.size() &&
      quote_.starts_with(bytes)) {
    return 0;
  }
  if (dialect_ == ValueDialect::kGemma && bytes.starts_with(quote_)) {
    begin_string('"', out);
    return state_ == State::kOpen ? quote_.size() : 0;
  }
  structure(c, out);
  return state_ == State::kFailed ? 0 : 1;
}

void ValueStream::structure(char c, std::string* out) {
  if (expect_ == Expect::kStart) {
    const bool is_start = c == (dialect_ == ValueDialect::kPython ? '(' : '{');
    is_start ? open(c, out) : fail();
    return;
  }
  const Frame& frame = frames_.back();
  switch (expect_) {
    case Expect::kStart:
      break;
    case Expect::kKey:
      c == frame.close ? close_frame(out) : begin_key(c);
      break;
    case Expect::kColon:
      if (c != (frame.is_call ? '=' : ':')) {
        fail();
        break;
      }
      held_ += ':';
      expect_ = Expect::kValue;
      break;
    case Expect::kItem:
      c == frame.close ? close_frame(out) : begin_value(c, out);
      break;
    case Expect::kValue:
      begin_value(c, out);
      break;
    case Expect::kComma:
      if (c == frame.close) {
        close_frame(out);
      } else if (c == ',') {
        held_.assign(1, ',');
        expect_ = frame.is_object ? Expect::kKey : Expect::kItem;
      } else {
        fail();
      }
      break;
  }
}

bool ValueStream::is_quote(char c) const {
  return dialect_ != ValueDialect::kGemma &&
         (c == '"' || (dialect_ == ValueDialect::kPython && c == '\''));
}

bool ValueStream::is_word(char c) const {
  if (is_key_) {
    return std::string_view(":=,{}()[]\"' \t\n\r\xFF").find(c) == std::string_view::npos;
  }
  return is_letter_or_digit(c) || std::string_view("_-+.").find(c) != std::string_view::npos;
}

void ValueStream::begin_key(char c) {
  const bool may_be_word = dialect_ == ValueDialect::kGemma || frames_.back().is_call;
  is_key_ = true;
  if (is_quote(c) && !frames_.back().is_call) {
    begin_string(c, &held_);
  } else if (may_be_word && is_word(c)) {
    lexeme_ = Lexeme::kWord;
    word_ = c;
  } else {
    fail();
  }
}

void ValueStream::begin_value(char c, std::string* out) {
  is_key_ = false;
  if (is_quote(c)) {
    begin_string(c, out);
  } else if (c == '{' || c == '[' || (c == '(' && dialect_ == ValueDialect::kPython)) {
    open(c, out);
  } else if (is_word(c)) {
    lexeme_ = Lexeme::kWord;
    word_ = c;
  } else {
    fail();
  }
}

void ValueStream::open(char c, std::string* out) {
  if (frames_.size() == kMaxDepth) {
    fail();
    return;
  }
  flush(out);
  const bool is_call = frames_.empty() && dialect_ == ValueDialect::kPython;
  const bool is_object = c == '{' || is_call;
  frames_.push_back({c == '{' ? '}' : c == '[' ? ']' : ')', is_object, is_call});
  *out += is_object ? '{' : '[';
  expect_ = is_object ? Expect::kKey : Expect::kItem;
}

void ValueStream::close_frame(std::string* out) {
  held_.clear();  // a comma before the bracket
  *out += frames_.back().is_object ? '}' : ']';
  frames_.pop_back();
  expect_ = Expect::kComma;
  if (frames_.empty()) {
    state_ = State::kDone;
  }
}

void ValueStream::flush(std::string* out) {
  *out += held_;
  held_.clear();
}

void ValueStream::begin_string(char quote, std::string* out) {
  const bool is_key = expect_ == Expect::kKey;
  if (!is_key && expect_ != Expect::kValue && expect_ != Expect::kItem) {
    fail();
    return;
  }
  is_key_ = is_key;
  lexeme_ = Lexeme::kString;
  end_quote_ = quote;
  if (is_key) {
    held_ += '"';
  } else {
    flush(out);
    *out += '"';
  }
}

void ValueStream::append_char(char c, std::string* out) {
  std::string& to = *target(out);
  if (const std::size_t known = kControlEscapes.find(c); known != std::string_view::npos) {
    to += '\\';
    to += kControlLetters[known];
  } else if (static_cast<unsigned char>(c) < 0x20) {
    append_hex_escape(static_cast<unsigned char>(c), &to);
  } else {
    if (c == '"' || c == '\\') {
      to += '\\';
    }
    to += c;
  }
}

std::size_t ValueStream::in_quoted(std::string_view bytes, std::string* out) {
  const MarkerHit hit = find_marker(bytes, {quote_});
  for (const char c : bytes.substr(0, hit.begin)) {
    append_char(c, out);
  }
  if (!hit.is_found) {
    return hit.begin;
  }
  end_string(out);
  return hit.begin + quote_.size();
}

std::size_t ValueStream::in_string(std::string_view bytes, std::string* out) {
  const char c = bytes.front();
  if (!escape_.empty()) {
    in_escape(c, out);
    return 1;
  }
  if (c == end_quote_) {
    end_string(out);
  } else if (c == '\\') {
    escape_ = c;
  } else {
    append_char(c, out);
  }
  return 1;
}

namespace {

// Of hexadecimal digits, by the letter of the escape.
std::size_t num_digits(char letter, ValueDialect dialect) {
  if (letter == 'u') {
    return 4;
  }
  if (dialect == ValueDialect::kPython) {
    return letter == 'x' ? 2 : letter == 'U' ? 8 : 0;
  }
  return 0;
}

}  // namespace

void ValueStream::in_escape(char c, std::string* out) {
  escape_ += c;
  const std::size_t digits = num_digits(escape_[1], dialect_);
  if (escape_.size() > 2 && !is_hex(c)) {  // no escape after all: text
    const std::string text = escape_.substr(0, escape_.size() - 1);
    escape_.clear();
    for (const char literal : text) {
      append_char(literal, out);
    }
    in_string(std::string_view(&c, 1), out);
    return;
  }
  if (escape_.size() == 2 + digits) {
    dialect_ == ValueDialect::kJson ? end_json_escape(out) : end_python_escape(out);
    escape_.clear();
  }
}

void ValueStream::end_json_escape(std::string* out) {
  const bool is_known = std::string_view("\"\\/bfnrtu").find(escape_[1]) != std::string_view::npos;
  if (is_known) {
    target(out)->append(escape_);
  } else {  // "\d": the backslash is meant
    append_char('\\', out);
    append_char(escape_[1], out);
  }
}

void ValueStream::end_python_escape(std::string* out) {
  constexpr std::string_view kLetters = "abfnrtv0";
  constexpr std::string_view kMeanings("\a\b\f\n\r\t\v\0", 8);
  const char letter = escape_[1];
  if (escape_.size() > 2) {
    const char32_t value = hex_value(std::string_view(escape_).substr(2));
    const bool is_surrogate = value >= 0xD800 && value < 0xE000;
    if (is_surrogate || value < 0x80) {
      append_hex_escape(value, target(out));
    } else {
      append_utf8(target(out), value > 0x10FFFF ? 0xFFFD : value);
    }
  } else if (const std::size_t known = kLetters.find(letter); known != std::string_view::npos) {
    append_char(kMeanings[known], out);
  } else if (letter == '\\' || letter == '\'' || letter == '"') {
    append_char(letter, out);
  } else if (letter != '\n') {  // a backslash before a line's end joins lines
    append_char('\\', out);
    append_char(letter, out);
  }
}

void ValueStream::end_string(std::string* out) {
  *target(out) += '"';
  lexeme_ = Lexeme::kNone;
  expect_ = is_key_ ? Expect::kColon : Expect::kComma;
}

void ValueStream::end_word(std::string* out) {
  lexeme_ = Lexeme::kNone;
  if (is_key_) {
    append_json_string(&held_, word_);
    expect_ = Expect::kColon;
    is_key_ = false;
    return;
  }
  std::string literal = literal_of(word_);
  if (literal.empty() && dialect_ == ValueDialect::kGemma) {
    append_json_string(&literal, word_);
  }
  if (literal.empty()) {
    fail();
    return;
  }
  flush(out);
  *out += literal;
  expect_ = Expect::kComma;
}

std::string ValueStream::close() {
  if (std::exchange(is_closed_, true)) {
    return {};
  }
  if (expect_ == Expect::kStart) {
    state_ = State::kFailed;
    return "{}";
  }
  std::string out;
  if (lexeme_ == Lexeme::kString && !is_key_) {
    out += '"';
  }
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    out += frame->is_object ? '}' : ']';
  }
  frames_.clear();
  state_ = State::kFailed;
  return out;
}

}  // namespace plumb
