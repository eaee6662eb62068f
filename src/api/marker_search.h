// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Where the first of some markers is in a text that may go on.
struct MarkerHit {
  bool is_found = false;
  std::size_t begin = 0;   ///< of the marker; not found: of the tail that could become one
  std::size_t marker = 0;  ///< which one was found; of several at one place the longest
};

MarkerHit find_marker(std::string_view text, const std::vector<std::string>& markers);

/// Whether a text that may go on begins with a marker.
enum class MarkerMatch : unsigned char { kNo, kYes, kMore };

/// is_end: the text does not go on. An empty marker begins no text.
MarkerMatch match_marker(std::string_view text, std::string_view marker, bool is_end);

/// White space of JSON.
constexpr bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::size_t num_leading_spaces(std::string_view text);

}  // namespace plumb
