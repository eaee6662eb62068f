// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/fragment.h"

#include <algorithm>

namespace plumb {

bool allows_special(const SpecialPolicy& policy, std::size_t begin, std::size_t end) {
  if (!policy.parse_special) {
    return false;
  }
  const auto after = std::upper_bound(
      policy.data.begin(), policy.data.end(), begin,
      [](std::size_t position, const ByteRange& range) { return position < range.end; });
  return after == policy.data.end() || after->begin >= end;
}

std::size_t ascii_space_len(std::string_view text) {
  return std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size());
}

}  // namespace plumb
