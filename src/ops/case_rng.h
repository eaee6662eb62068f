// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace plumb {

/// Repeatable values for op cases: the same seed gives the same inputs on every back end.
/// Source    Steele et al. 2014 (splitmix64).
class CaseRng {
 public:
  explicit CaseRng(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

  std::uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15ULL;
    return mix64(state_);
  }

  /// In [low, high).
  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(bits() >> 40) * 0x1p-24F;
  }

  /// In [0, count). Requires count > 0.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(count));
  }

  float normal() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius =
        std::sqrt(-2.0 * std::log(static_cast<double>((bits() >> 11) + 1) * 0x1p-53));
    return static_cast<float>(radius *
                              std::cos(kTwoPi * static_cast<double>(bits() >> 11) * 0x1p-53));
  }

  std::vector<float> normals(std::int64_t count, float scale = 1.0F) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
      value = scale * normal();
    }
    return values;
  }

  /// 0 .. count-1 in random order.
  std::vector<std::int32_t> permutation(std::int64_t count) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<std::int32_t>(i);
      std::swap(ids[i], ids[static_cast<std::size_t>(below(static_cast<std::int64_t>(i) + 1))]);
    }
    return ids;
  }

 private:
  std::uint64_t state_;
};

}  // namespace plumb
