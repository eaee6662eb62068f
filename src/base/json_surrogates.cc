// SPDX-License-Identifier: Apache-2.0
#include "base/json_surrogates.h"

namespace plumb {
namespace {

int hex4(std::string_view text) {
  int value = 0;
  for (const char c : text.substr(0, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return text.size() >= 4 ? value : -1;
}

bool is_high_surrogate(int unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}

bool is_low_surrogate(int unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

// Where the next lone surrogate escape begins; npos if there is none. Requires `from` is not inside
// an escape.
std::size_t find_lone_surrogate(std::string_view text, std::size_t from) {
  constexpr std::size_t kEscape = 6;  // characters of \uXXXX
  for (std::size_t i = text.find('\\', from); i < text.size(); i = text.find('\\', i)) {
    if (text.substr(i + 1, 1) != "u") {
      i += 2;
      continue;
    }
    const int unit = hex4(text.substr(i + 2));
    const bool paired = is_high_surrogate(unit) && text.substr(i + kEscape).starts_with("\\u") &&
                        is_low_surrogate(hex4(text.substr(i + kEscape + 2)));
    if (!paired && (is_high_surrogate(unit) || is_low_surrogate(unit))) {
      return i;
    }
    i += paired ? 2 * kEscape : 2;
  }
  return std::string_view::npos;
}

}  // namespace

bool has_lone_surrogate(std::string_view text) {
  return find_lone_surrogate(text, 0) != std::string_view::npos;
}

std::string replace_lone_surrogates(std::string_view text, std::string_view digits) {
  std::string out(text);
  for (std::size_t at = find_lone_surrogate(out, 0); at != std::string::npos;
       at = find_lone_surrogate(out, at + 2 + digits.size())) {
    out.replace(at + 2, digits.size(), digits);
  }
  return out;
}

}  // namespace plumb
