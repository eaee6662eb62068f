// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue_forecast.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

constexpr double kMemorySeconds = 30;
constexpr double kLeastSeconds = 0.1;
constexpr double kMostMillis = 1e12;

}  // namespace

void QueueForecast::observe(std::chrono::nanoseconds elapsed, std::int64_t started_tokens) {
  const double seconds = static_cast<double>(elapsed.count()) / 1e9;
  const double kept = std::exp(-seconds / kMemorySeconds);
  seconds_ = seconds_ * kept + seconds;
  tokens_ = tokens_ * kept + static_cast<double>(started_tokens);
}

std::optional<double> QueueForecast::tokens_per_second() const {
  return seconds_ >= kLeastSeconds && tokens_ > 0 ? std::optional(tokens_ / seconds_)
                                                  : std::nullopt;
}

std::chrono::milliseconds queue_time(std::int64_t queued_tokens, double tokens_per_second) {
  const double millis =
      static_cast<double>(queued_tokens) / std::max(tokens_per_second, 1e-6) * 1e3;
  return std::chrono::milliseconds(std::llround(std::min(millis, kMostMillis)));
}

}  // namespace plumb
