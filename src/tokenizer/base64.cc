// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/base64.h"

#include <cstdint>

namespace plumb {

bool decode_base64(std::string_view text, std::string* bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  bytes->clear();
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i) {
    text.remove_suffix(1);
  }
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) {
      return false;
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    num_bits += 6;
    if (num_bits >= 8) {
      num_bits -= 8;
      bytes->push_back(static_cast<char>(static_cast<unsigned char>((bits >> num_bits) & 0xFF)));
    }
  }
  return num_bits < 6;
}

}  // namespace plumb
