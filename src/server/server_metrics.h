// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api/choice.h"
#include "base/clock.h"
#include "base/metrics.h"

namespace plumb {

double seconds_since(Clock::TimePoint begin, Clock::TimePoint now);

/// The counters of the HTTP side.
/// Thread: any.
class ServerMetrics {
 public:
  explicit ServerMetrics(Metrics& metrics);

  void count_request(const std::string& route, int http_status, double seconds);
  void count_end(const ChoiceEnd& end);

  Histogram time_to_first_token;
  Gauge preparing;

 private:
  Metrics& metrics_;
  Counter prompt_tokens_;
  Counter completion_tokens_;
  Counter cached_tokens_;
  Histogram queue_time_;
  Histogram prefill_time_;
  Histogram decode_time_;
  Histogram time_per_token_;
  Histogram preemptions_;
};

}  // namespace plumb
