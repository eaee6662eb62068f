// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step_time.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

constexpr double kForget = 0.998;
constexpr double kUnknown = 1e3;
// Terms that the steps do not vary would otherwise be forgotten without end.
constexpr double kMostSpread = 1e4;
// Scales that bring the terms near 1.
constexpr double kRows = 32;
constexpr double kCachedTokens = 16'384;
constexpr double kPrefillTokens = 512;

}  // namespace

std::int64_t prefill_allowance(std::chrono::nanoseconds target, std::chrono::nanoseconds base,
                               std::chrono::nanoseconds each, std::int64_t least,
                               std::int64_t most) {
  const std::int64_t fits = (target - base) / std::max(each, std::chrono::nanoseconds(1));
  return std::clamp(fits, std::min(least, most), most);
}

StepTimeModel::StepTimeModel() {
  for (std::size_t i = 0; i < kTerms; ++i) {
    spread_[i][i] = kUnknown;
  }
}

StepTimeModel::Vector StepTimeModel::terms(const StepShape& shape) {
  return {1.0, static_cast<double>(shape.num_decode_rows) / kRows,
          static_cast<double>(shape.num_cached_tokens) / kCachedTokens,
          static_cast<double>(shape.num_prefill_tokens) / kPrefillTokens};
}

// Source: Ljung 1999, "System Identification", 11.2.
void StepTimeModel::observe(const StepShape& shape, std::chrono::nanoseconds time) {
  ++(shape.num_prefill_tokens > 0 ? num_prefills_ : num_decodes_);
  const Vector x = terms(shape);
  Vector gain{};
  double scale = 1.0;
  double error = static_cast<double>(time.count()) / 1e6;
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j < kTerms; ++j) {
      gain[i] += spread_[i][j] * x[j];
    }
    scale += x[i] * gain[i];
    error -= weights_[i] * x[i];
  }
  double largest = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    weights_[i] += gain[i] / scale * error;
    largest = std::max(largest, spread_[i][i]);
  }
  const double forget = largest < kMostSpread ? kForget : 1.0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      spread_[i][j] = (spread_[i][j] - gain[i] * gain[j] / scale) / forget;
      spread_[j][i] = spread_[i][j];
    }
  }
}

std::chrono::nanoseconds StepTimeModel::predict(const StepShape& shape) const {
  const Vector x = terms(shape);
  double millis = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    millis += weights_[i] * x[i];
  }
  return std::chrono::nanoseconds(std::llround(std::clamp(millis, 0.0, 1e9) * 1e6));
}

std::chrono::nanoseconds StepTimeModel::each_prefill_token() const {
  const double nanos = std::clamp(weights_.back(), 0.0, 1e9) / kPrefillTokens * 1e6;
  return std::chrono::nanoseconds(std::max<std::int64_t>(std::llround(nanos), 1));
}

}  // namespace plumb
