// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb::jinja {

/// Text in Python's sense: strings count code points, and character classes and case follow
/// Unicode. All functions take UTF-8; an ill-formed byte counts as U+FFFD.

std::int64_t num_code_points(std::string_view text);
/// Byte offset of the code point with this index; the size of the text if there are fewer.
std::size_t byte_offset(std::string_view text, std::int64_t index);

bool is_space(char32_t c);
bool is_printable(
    char32_t c);  ///< neither control, unassigned, surrogate nor separator (but blank)
bool is_line_break(char32_t c);
bool is_alphabetic(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);
bool is_cased(char32_t c);
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);

/// Bytes of the text that remain after stripping.
struct Span {
  std::size_t begin;
  std::size_t end;
};

enum class Side : unsigned char { kBoth, kLeft, kRight };
Span strip_space(std::string_view text, Side side);
/// Strips every code point that occurs in chars.
Span strip_chars(std::string_view text, std::string_view chars, Side side);

enum class CaseMap : unsigned char { kLower, kUpper, kTitle, kFold };
/// Appends the full (possibly longer) mapping of one code point.
void append_mapped(std::string* out, char32_t c, CaseMap map);
/// Lower case of the sigma at byte `at`, which depends on the letters around it.
char32_t lower_sigma(std::string_view text, std::size_t at);

/// The code point with this many bytes at `at`; advances `at`.
char32_t next_code_point(std::string_view text, std::size_t* at);
/// The code point that ends before `at`; moves `at` to its start. Requires at > 0.
char32_t previous_code_point(std::string_view text, std::size_t* at);

}  // namespace plumb::jinja
