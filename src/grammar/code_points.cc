// SPDX-License-Identifier: Apache-2.0
#include "grammar/code_points.h"

#include <algorithm>

namespace plumb {

std::vector<CodePointRange> tidy_ranges(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> sorted;
  for (const CodePointRange& range : ranges) {
    if (range.first <= std::min(range.last, kMaxCodePoint)) {
      sorted.push_back({range.first, std::min(range.last, kMaxCodePoint)});
    }
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<CodePointRange> out;
  for (const CodePointRange& range : sorted) {
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

std::vector<CodePointRange> other_ranges(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> rest;
  char32_t next = 0;
  for (const CodePointRange& range : tidy_ranges(ranges)) {
    if (range.first > next) {
      rest.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next <= kMaxCodePoint) {
    rest.push_back({next, kMaxCodePoint});
  }
  return rest;
}

}  // namespace plumb
