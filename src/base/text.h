// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// One decoded character: its code point and how many bytes it took; an ill-formed maximal
/// subsequence gives U+FFFD with valid = false.
struct Utf8Char {
  char32_t code_point;
  int num_bytes;
  bool valid;
};

/// Decodes the character at the front. Requires text is not empty.
Utf8Char decode_utf8(std::string_view text);
void append_utf8(std::string* out, char32_t code_point);
bool is_valid_utf8(std::string_view text);
/// Code points of well-formed UTF-8.
std::int64_t num_code_points(std::string_view text);
/// Replaces every maximal ill-formed subsequence by U+FFFD.
std::string to_valid_utf8(std::string_view text);
/// Length of the longest prefix that ends at a character boundary and, when the rest (at most 3
/// bytes) is a proper prefix of a character, excludes it.
std::size_t complete_utf8_len(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);  ///< ASCII white space on both sides
std::string to_lower_ascii(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// "1.5 GiB", "340 MiB", "12 B".
std::string bytes_to_text(std::uint64_t num_bytes);
/// Strict decimal integer of the whole text; false if it is anything else or out of range.
bool parse_int64(std::string_view text, std::int64_t* out);
bool parse_double(std::string_view text, double* out);

}  // namespace plumb
