// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// The printable character that byte-level vocabularies write for a byte: 33-126, 161-172 and
/// 174-255 stand for themselves, the other 68 bytes are 256, 257, … in order.
char32_t byte_to_char(unsigned char byte);

/// The byte a character stands for, or -1 if it stands for none.
int char_to_byte(char32_t character);

/// Bytes written with their printable characters, as UTF-8.
std::string to_byte_chars(std::string_view bytes);

/// The bytes that text stands for. False (and *bytes unspecified) if a character stands for none.
bool from_byte_chars(std::string_view text, std::string* bytes);

}  // namespace plumb
