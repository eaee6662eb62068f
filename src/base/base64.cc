// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace plumb {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min(bytes.size() - at, std::size_t{3});
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const unsigned char byte = i < count ? static_cast<unsigned char>(bytes[at + i]) : 0;
      bits = (bits << 8) | byte;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text.push_back(i <= count ? kAlphabet[(bits >> (18 - 6 * i)) & 63] : '=');
    }
  }
  return text;
}

bool decode_base64(std::string_view text, std::string* bytes) {
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
