// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "tokenizer/jinja_text.h"

namespace plumb::jinja {

namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

bool base_digit(char c, int base) {
  const char l = static_cast<char>(c | 0x20);
  return base == 16 ? digit(c) || (l >= 'a' && l <= 'f') : c >= '0' && c < '0' + base;
}

// Line breaks become \n; one at the very end is dropped.
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') {
      ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') {
    out.pop_back();
  }
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run();

 private:
  enum class Tag : unsigned char { kBlock, kVariable, kComment };

  Status fail(const std::string& what) const {
    return {Code::kInvalidArgument, "template line " + std::to_string(line_) + ": " + what};
  }

  char at(std::size_t pos) const { return pos < source_.size() ? source_[pos] : '\0'; }

  std::string_view rest() const { return std::string_view(source_).substr(pos_); }

  std::size_t skip_space(std::size_t pos) const;
  void advance_to(std::size_t pos);
  void emit(TokenKind kind, std::string text);
  void emit_text(std::size_t begin, std::size_t end, char sign, bool may_lstrip);
  std::size_t find_tag(std::size_t from) const;
  bool raw_begin(std::size_t tag, std::size_t* body, char* sign) const;
  Status lex_root();
  Status lex_comment();
  Status lex_raw();
  Status lex_tag(Tag tag);
  bool lex_tag_end(Tag tag);
  Status lex_token();
  bool lex_number();
  std::size_t digits_end(std::size_t pos) const;
  std::size_t float_end() const;
  std::size_t integer_end() const;
  Status lex_name();
  Status lex_string();
  Status lex_escape(std::size_t* pos, std::string* out) const;
  Status lex_code_escape(std::size_t* pos, std::string* out) const;
  Status lex_operator();

  std::string source_;
  std::size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::string open_brackets_;
  std::vector<Token> tokens_;
};

std::size_t Lexer::skip_space(std::size_t pos) const {
  while (pos < source_.size()) {
    std::size_t next = pos;
    if (!is_space(next_code_point(source_, &next))) {
      break;
    }
    pos = next;
  }
  return pos;
}

void Lexer::advance_to(std::size_t pos) {
  line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(pos_),
                                       source_.begin() + static_cast<std::ptrdiff_t>(pos), '\n'));
  line_starting_ = pos > 0 && pos <= source_.size() && source_[pos - 1] == '\n';
  pos_ = pos;
}

void Lexer::emit(TokenKind kind, std::string text) {
  tokens_.push_back({kind, line_, std::move(text)});
}

void Lexer::emit_text(std::size_t begin, std::size_t end, char sign, bool may_lstrip) {
  std::string_view text = std::string_view(source_).substr(begin, end - begin);
  if (sign == '-') {
    text = text.substr(0, strip_space(text, Side::kRight).end);
  } else if (sign != '+' && may_lstrip) {
    const std::size_t newline = text.rfind('\n');
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if ((line > 0 || line_starting_) &&
        strip_space(text.substr(line), Side::kLeft).begin == text.size() - line) {
      text = text.substr(0, line);
    }
  }
  if (!text.empty()) {
    emit(TokenKind::kText, std::string(text));
  }
}

std::size_t Lexer::find_tag(std::size_t from) const {
  for (std::size_t i = source_.find('{', from); i != std::string::npos;
       i = source_.find('{', i + 1)) {
    const char next = at(i + 1);
    if (next == '%' || next == '{' || next == '#') {
      return i;
    }
  }
  return std::string::npos;
}

bool Lexer::raw_begin(std::size_t tag, std::size_t* body, char* sign) const {
  std::size_t pos = tag + 2;
  *sign = at(pos) == '-' || at(pos) == '+' ? at(pos) : '\0';
  pos = skip_space(pos + (*sign != '\0' ? 1 : 0));
  if (source_.compare(pos, 3, "raw") != 0) {
    return false;
  }
  pos = skip_space(pos + 3);
  const bool strips = at(pos) == '-';
  if (source_.compare(pos + (strips ? 1 : 0), 2, "%}") != 0) {
    return false;
  }
  pos += strips ? 3 : 2;
  *body = strips ? skip_space(pos) : pos;
  return true;
}

Status Lexer::lex_root() {
  const std::size_t tag = find_tag(pos_);
  if (tag == std::string::npos) {
    if (pos_ < source_.size()) {
      emit(TokenKind::kText, source_.substr(pos_));
    }
    advance_to(source_.size());
    return {};
  }
  std::size_t body = 0;
  char sign = '\0';
  if (at(tag + 1) == '%' && raw_begin(tag, &body, &sign)) {
    emit_text(pos_, tag, sign, true);
    advance_to(body);
    return lex_raw();
  }
  sign = at(tag + 2) == '-' || at(tag + 2) == '+' ? at(tag + 2) : '\0';
  const char kind = at(tag + 1);
  emit_text(pos_, tag, sign, kind != '{');
  advance_to(tag + 2 + (sign != '\0' ? 1 : 0));
  if (kind == '#') {
    return lex_comment();
  }
  return lex_tag(kind == '%' ? Tag::kBlock : Tag::kVariable);
}

Status Lexer::lex_comment() {
  const std::size_t end = source_.find("#}", pos_);
  if (pos_ >= source_.size()) {
    return {};  // an opening mark that ends the template opens nothing
  }
  if (end == std::string::npos) {
    return fail("missing end of comment tag");
  }
  const char sign = end > pos_ ? source_[end - 1] : '\0';
  std::size_t next = end + 2;
  if (sign == '-') {
    next = skip_space(next);
  } else if (sign != '+' && at(next) == '\n') {
    ++next;
  }
  advance_to(next);
  return {};
}

Status Lexer::lex_raw() {
  for (std::size_t tag = source_.find("{%", pos_); tag != std::string::npos;
       tag = source_.find("{%", tag + 1)) {
    std::size_t pos = tag + 2;
    const char sign = at(pos) == '-' || at(pos) == '+' ? at(pos) : '\0';
    pos = skip_space(pos + (sign != '\0' ? 1 : 0));
    if (source_.compare(pos, 6, "endraw") != 0) {
      continue;
    }
    pos = skip_space(pos + 6);
    const char end_sign = at(pos) == '-' || at(pos) == '+' ? at(pos) : '\0';
    pos += end_sign != '\0' ? 1 : 0;
    if (source_.compare(pos, 2, "%}") != 0) {
      continue;
    }
    pos += 2;
    if (end_sign == '-') {
      pos = skip_space(pos);
    } else if (end_sign == '\0' && at(pos) == '\n') {
      ++pos;
    }
    emit_text(pos_, tag, sign, true);
    advance_to(pos);
    return {};
  }
  return pos_ >= source_.size() ? Status() : fail("missing end of raw directive");
}

Status Lexer::lex_tag(Tag tag) {
  emit(tag == Tag::kBlock ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
  open_brackets_.clear();
  while (pos_ < source_.size()) {
    if (open_brackets_.empty() && lex_tag_end(tag)) {
      return {};
    }
    PLUMB_RETURN_IF_ERROR(lex_token());
  }
  return {};
}

bool Lexer::lex_tag_end(Tag tag) {
  const char sign = at(pos_);
  const bool block = tag == Tag::kBlock;
  const bool signed_end = sign == '-' || (block && sign == '+');
  std::size_t pos = pos_ + (signed_end ? 1 : 0);
  if (source_.compare(pos, 2, block ? "%}" : "}}") != 0) {
    return false;
  }
  pos += 2;
  if (sign == '-') {
    pos = skip_space(pos);
  } else if (block && sign != '+' && at(pos) == '\n') {
    ++pos;
  }
  emit(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
  advance_to(pos);
  return true;
}

Status Lexer::lex_token() {
  const std::size_t space = skip_space(pos_);
  if (space != pos_) {
    advance_to(space);
    return {};
  }
  if (lex_number()) {
    return {};
  }
  std::size_t next = pos_;
  const char32_t c = next_code_point(source_, &next);
  if (c == '_' || c >= 0x80 || std::isalpha(static_cast<int>(c)) != 0) {
    return lex_name();
  }
  if (c == '\'' || c == '"') {
    return lex_string();
  }
  return lex_operator();
}

// End of (\d+_)*\d+ at pos, or pos if there is none.
std::size_t Lexer::digits_end(std::size_t pos) const {
  if (!digit(at(pos))) {
    return pos;
  }
  while (digit(at(pos)) || (at(pos) == '_' && digit(at(pos + 1)))) {
    ++pos;
  }
  return pos;
}

std::size_t Lexer::float_end() const {
  if (pos_ > 0 && source_[pos_ - 1] == '.') {
    return pos_;
  }
  const std::size_t whole = digits_end(pos_);
  if (whole == pos_) {
    return pos_;
  }
  const std::size_t fraction = at(whole) == '.' ? digits_end(whole + 1) : whole;
  const bool has_fraction = at(whole) == '.' && fraction > whole + 1;
  const std::size_t mantissa = has_fraction ? fraction : whole;
  if ((at(mantissa) | 0x20) == 'e') {
    const std::size_t sign = at(mantissa + 1) == '+' || at(mantissa + 1) == '-' ? 1 : 0;
    const std::size_t exponent = digits_end(mantissa + 1 + sign);
    if (exponent > mantissa + 1 + sign) {
      return exponent;
    }
  }
  return has_fraction ? fraction : pos_;
}

std::size_t Lexer::integer_end() const {
  if (!digit(at(pos_))) {
    return pos_;
  }
  const char marker = static_cast<char>(at(pos_ + 1) | 0x20);
  const int base = marker == 'x' ? 16 : marker == 'o' ? 8 : marker == 'b' ? 2 : 0;
  std::size_t pos = pos_;
  if (at(pos_) == '0' && base != 0) {
    const auto starts = [&](std::size_t p) {
      return base_digit(at(p), base) || (at(p) == '_' && base_digit(at(p + 1), base));
    };
    for (pos = pos_ + 2; starts(pos);) {
      pos += at(pos) == '_' ? 2 : 1;
    }
    if (pos > pos_ + 2) {
      return pos;
    }
    pos = pos_;
  }
  if (at(pos) == '0') {
    for (++pos; at(pos) == '0' || (at(pos) == '_' && at(pos + 1) == '0'); ++pos) {
    }
    return pos;
  }
  return digits_end(pos);
}

bool Lexer::lex_number() {
  TokenKind kind = TokenKind::kFloat;
  std::size_t end = float_end();
  if (end == pos_) {
    kind = TokenKind::kInteger;
    end = integer_end();
  }
  if (end == pos_) {
    return false;
  }
  std::string text = source_.substr(pos_, end - pos_);
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  emit(kind, std::move(text));
  advance_to(end);
  return true;
}

Status Lexer::lex_name() {
  std::size_t end = pos_;
  for (bool first = true; end < source_.size(); first = false) {
    std::size_t next = end;
    const char32_t c = next_code_point(source_, &next);
    if (!(first ? is_identifier_start(c) : is_identifier_part(c))) {
      break;
    }
    end = next;
  }
  if (end == pos_) {
    return fail("unexpected character in an expression");
  }
  emit(TokenKind::kName, source_.substr(pos_, end - pos_));
  advance_to(end);
  return {};
}

Status Lexer::lex_string() {
  const char quote = at(pos_);
  std::string value;
  std::size_t pos = pos_ + 1;
  while (pos < source_.size() && source_[pos] != quote) {
    if (source_[pos] == '\\') {
      PLUMB_RETURN_IF_ERROR(lex_escape(&pos, &value));
    } else {
      value.push_back(source_[pos++]);
    }
  }
  if (pos >= source_.size()) {
    return fail("unterminated string literal");
  }
  emit(TokenKind::kString, std::move(value));
  advance_to(pos + 1);
  return {};
}

Status Lexer::lex_escape(std::size_t* pos, std::string* out) const {
  constexpr std::string_view kFrom = "\\'\"abfnrtv";
  constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
  const char c = at(*pos + 1);
  if (const std::size_t i = kFrom.find(c); c != '\0' && i != std::string_view::npos) {
    out->push_back(kTo[i]);
    *pos += 2;
    return {};
  }
  if (c == '\n') {
    *pos += 2;
    return {};
  }
  if (c >= '0' && c <= '7') {
    char32_t code = 0;
    std::size_t next = *pos + 1;
    for (int i = 0; i < 3 && at(next) >= '0' && at(next) <= '7'; ++i) {
      code = code * 8 + static_cast<char32_t>(at(next++) - '0');
    }
    append_utf8(out, code);
    *pos = next;
    return {};
  }
  if (c == 'x' || c == 'u' || c == 'U') {
    return lex_code_escape(pos, out);
  }
  if (c == 'N') {
    return fail("\\N{...} escapes are not supported: write \\uXXXX");
  }
  out->push_back('\\');
  ++*pos;
  if (static_cast<unsigned char>(c) >= 0x80) {
    // The reference rewrites other characters as escapes first, so that the backslash escapes the
    // backslash of the rewritten form.
    std::size_t next = *pos;
    const char32_t code = next_code_point(source_, &next);
    const int digits = code <= 0xFF ? 2 : code <= 0xFFFF ? 4 : 8;
    out->push_back(digits == 2 ? 'x' : digits == 4 ? 'u' : 'U');
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
      out->push_back("0123456789abcdef"[(code >> shift) & 0xFU]);
    }
    *pos = next;
  }
  return {};
}

Status Lexer::lex_code_escape(std::size_t* pos, std::string* out) const {
  const auto read = [this](std::size_t from, int digits, char32_t* code) {
    *code = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = at(from + static_cast<std::size_t>(i));
      if (!base_digit(c, 16)) {
        return false;
      }
      *code = *code * 16 + static_cast<char32_t>(digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
  };
  const char kind = at(*pos + 1);
  const int digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
  char32_t code = 0;
  if (!read(*pos + 2, digits, &code) || code > 0x10FFFF) {
    return fail(std::string("malformed \\") + kind + " escape in a string literal");
  }
  *pos += 2 + static_cast<std::size_t>(digits);
  char32_t second = 0;
  const bool high = code >= 0xD800 && code < 0xDC00;
  if (high && at(*pos) == '\\' && at(*pos + 1) == 'u' && read(*pos + 2, 4, &second) &&
      second >= 0xDC00 && second < 0xE000) {
    code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
    *pos += 6;
  } else if (code >= 0xD800 && code < 0xE000) {
    code = 0xFFFD;
  }
  append_utf8(out, code);
  return {};
}

Status Lexer::lex_operator() {
  constexpr std::array<std::string_view, 26> kOperators = {
      "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  for (const std::string_view op : kOperators) {
    if (rest().substr(0, op.size()) != op) {
      continue;
    }
    if (op == "{" || op == "(" || op == "[") {
      open_brackets_.push_back(op == "{" ? '}' : op == "(" ? ')' : ']');
    } else if (op == "}" || op == ")" || op == "]") {
      if (open_brackets_.empty() || open_brackets_.back() != op[0]) {
        return fail("unexpected '" + std::string(op) + "'");
      }
      open_brackets_.pop_back();
    }
    emit(TokenKind::kOperator, std::string(op));
    advance_to(pos_ + op.size());
    return {};
  }
  return fail("unexpected character in an expression");
}

Result<std::vector<Token>> Lexer::run() {
  while (pos_ < source_.size()) {
    PLUMB_RETURN_IF_ERROR(lex_root());
  }
  emit(TokenKind::kEnd, "");
  return std::move(tokens_);
}

}  // namespace

Result<std::vector<Token>> tokenize_template(std::string_view source) {
  return Lexer(normalize_newlines(source)).run();
}

}  // namespace plumb::jinja
