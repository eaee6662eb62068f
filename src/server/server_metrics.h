// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/choice.h"
#include "base/clock.h"
#include "base/metrics.h"

namespace plumb {

double seconds_since(Clock::TimePoint begin, Clock::TimePoint now);

/// 1, 2, 5, 10, 20, 50 … up to `most`.
std::vector<double> one_two_five_bounds(std::int64_t most);

/// What the HTTP side measures. Units: seconds, tokens.
struct ServerMeasures {
  Measure time_to_first_token;  ///< of a request, from its arrival
  Measure token_gap;            ///< of each token after a choice's first
  Measure queue_time;
  Measure prefill_time;
  Measure decode_time;
  Measure inference_time;
  Measure request_time;  ///< from the request's arrival to the end of a choice
  Measure time_per_token;
  Measure preemptions;
  Measure prompt_tokens;
  Measure completion_tokens;
  Measure most_completion_tokens;  ///< of the choices of a request
  Measure num_choices;             ///< of a request
  Measure max_tokens;              ///< of a request that says it
  Measure compile_time;            ///< of a schema or grammar
};

/// The counters of the HTTP side.
/// Thread: any, once names were added to the measures.
class ServerMetrics {
 public:
  /// No request has more than context_len tokens.
  ServerMetrics(Metrics& metrics, std::int64_t context_len);

  void count_request(const std::string& route, int http_status, double seconds);
  /// A choice came to its end; `seconds` since the request's arrival.
  void count_end(const ChoiceEnd& end, double seconds);
  /// So many choices ended before their time: client gone, time-out, error.
  void count_aborted(std::int64_t num_choices);
  /// All choices of a request have ended well; max_tokens is 0 where it did not say any.
  void count_answer(std::int64_t num_choices, std::int64_t most_completion_tokens,
                    std::int64_t max_tokens);

  ServerMeasures measures;
  Gauge preparing;

  // Finished choices, and what they had.
  Counter prompt_tokens;
  Counter completion_tokens;
  Counter cached_tokens;
  Counter finished_stop;
  Counter finished_length;
  Counter finished_abort;
  Counter prefill_seconds;
  Counter decode_seconds;

 private:
  Metrics& metrics_;
};

}  // namespace plumb
