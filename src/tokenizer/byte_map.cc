// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_map.h"

#include <array>

#include "base/text.h"

namespace plumb {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr unsigned kNumMoved = 68;

struct Tables {
  std::array<char32_t, 256> chars{};
  std::array<int, 256 + kNumMoved> bytes{};
};

constexpr Tables make_tables() {
  Tables t;
  for (int& byte : t.bytes) {
    byte = -1;
  }
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned c = stands_for_itself(byte) ? byte : next++;
    t.chars[byte] = c;
    t.bytes[c] = static_cast<int>(byte);
  }
  return t;
}

constexpr Tables kTables = make_tables();

}  // namespace

char32_t byte_to_char(unsigned char byte) {
  return kTables.chars[byte];
}

int char_to_byte(char32_t character) {
  return character < kTables.bytes.size() ? kTables.bytes[character] : -1;
}

std::string to_byte_chars(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    append_utf8(&text, byte_to_char(static_cast<unsigned char>(c)));
  }
  return text;
}

bool from_byte_chars(std::string_view text, std::string* bytes) {
  bytes->clear();
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const int byte = c.valid ? char_to_byte(c.code_point) : -1;
    if (byte < 0) {
      return false;
    }
    bytes->push_back(static_cast<char>(static_cast<unsigned char>(byte)));
    text.remove_prefix(static_cast<std::size_t>(c.num_bytes));
  }
  return true;
}

}  // namespace plumb
