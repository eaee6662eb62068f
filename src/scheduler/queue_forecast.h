// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace plumb {

/// How fast a queue gets shorter: prompt tokens that began for each second in which somebody
/// waited. The last half minute counts most.
class QueueForecast {
 public:
  /// In `elapsed`, while sequences waited, prompts of that many tokens left the queue.
  void observe(std::chrono::nanoseconds elapsed, std::int64_t started_tokens);

  /// Prompt tokens a second; nullopt until a tenth of a second of waiting was seen, and while
  /// nothing has begun.
  std::optional<double> tokens_per_second() const;

 private:
  double seconds_ = 0;
  double tokens_ = 0;
};

/// How long a queue of that many prompt tokens lasts at that rate.
std::chrono::milliseconds queue_time(std::int64_t queued_tokens, double tokens_per_second);

}  // namespace plumb
