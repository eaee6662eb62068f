// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace plumb {
namespace {

// Wagner and Fischer 1974, one row at a time: costs[j] = distance of what was read of a to b[0..j).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> costs(b.size() + 1);
  std::iota(costs.begin(), costs.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = costs[0];
    costs[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = costs[j + 1];
      costs[j + 1] = std::min({replaced, diagonal + 1, costs[j] + 1});
    }
  }
  return costs.back();
}

}  // namespace

std::string nearest_name(std::string_view written, std::span<const std::string> names) {
  constexpr std::size_t kMaxBytes = 64;  // no name is longer
  std::size_t least = std::min(written.size(), kMaxBytes) / 3 + 1;
  std::string nearest;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(written.substr(0, kMaxBytes), name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace plumb
