// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/choice.h"
#include "base/clock.h"
#include "server/span.h"
#include "server/trace_context.h"

namespace plumb {

/// What a request asked for, as far as a trace may tell.
struct TracedRequest {
  std::string id;
  std::string model;
  double temperature = 1;
  double top_p = 1;
  std::int64_t max_tokens = 0;  ///< 0 = not said
  std::int64_t n = 1;
  std::int64_t choices_per_prompt = 1;
};

/// Gathers the spans of one request: llm_request, and below it queue, prefill (one for each chunk),
/// retraction and decode of each choice.
/// Thread: one at a time.
class RequestTrace {
 public:
  /// `received` on the clock, which also says what time it is.
  RequestTrace(TraceContext context, TracedRequest request, Clock::TimePoint received,
               const Clock& clock);

  /// The first of the answer's tokens came.
  void on_first_token(Clock::TimePoint now);
  void on_end(const ChoiceEnd& end);
  /// All spans. Requires nothing follows.
  std::vector<Span> finish(int http_status, Clock::TimePoint now);

 private:
  void add(const char* name, std::int64_t choice, Clock::TimePoint begin, Clock::TimePoint end,
           std::int64_t num_tokens = 0);
  void add_usage(Span* root) const;
  void add_latencies(Span* root, Clock::TimePoint now) const;
  std::int64_t unix_ns(Clock::TimePoint at) const;

  TraceContext context_;
  TracedRequest request_;
  std::string span_id_;
  Clock::TimePoint received_;
  std::int64_t received_unix_ns_;
  std::optional<Clock::TimePoint> first_token_;
  std::vector<ChoiceEnd> ends_;  // without their phases
  std::vector<Span> children_;
  std::int64_t num_omitted_ = 0;
};

}  // namespace plumb
