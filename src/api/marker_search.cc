// SPDX-License-Identifier: Apache-2.0
#include "api/marker_search.h"

#include <algorithm>

namespace plumb {
namespace {

// Bytes at the end of the text that begin the marker.
std::size_t held_bytes(std::string_view text, std::string_view marker) {
  std::size_t num = std::min(text.size(), marker.empty() ? 0 : marker.size() - 1);
  while (num > 0 && !marker.starts_with(text.substr(text.size() - num))) {
    --num;
  }
  return num;
}

}  // namespace

MarkerHit find_marker(std::string_view text, const std::vector<std::string>& markers) {
  MarkerHit hit{.begin = text.size()};
  for (std::size_t i = 0; i < markers.size(); ++i) {
    const std::size_t at = markers[i].empty() ? std::string_view::npos : text.find(markers[i]);
    if (at == std::string_view::npos) {
      continue;
    }
    const bool is_first = !hit.is_found || at < hit.begin;
    if (is_first || (at == hit.begin && markers[i].size() > markers[hit.marker].size())) {
      hit = {.is_found = true, .begin = at, .marker = i};
    }
  }
  for (std::size_t i = 0; i < markers.size() && !hit.is_found; ++i) {
    hit.begin = std::min(hit.begin, text.size() - held_bytes(text, markers[i]));
  }
  return hit;
}

MarkerMatch match_marker(std::string_view text, std::string_view marker, bool is_end) {
  if (!marker.empty() && text.starts_with(marker)) {
    return MarkerMatch::kYes;
  }
  const bool may_become = !is_end && text.size() < marker.size() && marker.starts_with(text);
  return may_become ? MarkerMatch::kMore : MarkerMatch::kNo;
}

std::size_t num_leading_spaces(std::string_view text) {
  std::size_t num = 0;
  while (num < text.size() && is_space(text[num])) {
    ++num;
  }
  return num;
}

}  // namespace plumb
