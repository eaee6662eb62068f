// SPDX-License-Identifier: Apache-2.0
#include "server/server_metrics.h"

namespace plumb {
namespace {

const std::vector<double> kTtftBounds{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                      1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
const std::vector<double> kLatencyBounds{.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                         30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};

}  // namespace

double seconds_since(Clock::TimePoint begin, Clock::TimePoint now) {
  return std::chrono::duration<double>(now - begin).count();
}

ServerMetrics::ServerMetrics(Metrics& metrics)
    : time_to_first_token(metrics.histogram("plumb_time_to_first_token_seconds",
                                            "from the request's arrival to its first token",
                                            kTtftBounds)),
      metrics_(metrics),
      prompt_tokens_(
          metrics.counter("plumb_prompt_tokens_total", "prompt tokens of finished choices")),
      completion_tokens_(
          metrics.counter("plumb_completion_tokens_total", "generated tokens of finished choices")),
      cached_tokens_(metrics.counter("plumb_cached_tokens_total",
                                     "prompt tokens found in the prefix cache")) {}

void ServerMetrics::count_request(const std::string& route, int http_status, double seconds) {
  metrics_
      .counter("plumb_http_requests_total", "answered requests",
               {{"route", route}, {"status", std::to_string(http_status)}})
      .add();
  metrics_
      .histogram("plumb_http_request_seconds", "from arrival to the end of the answer",
                 kLatencyBounds, {{"route", route}})
      .observe(seconds);
}

void ServerMetrics::count_end(const ChoiceEnd& end) {
  prompt_tokens_.add(static_cast<double>(end.usage.prompt_tokens));
  completion_tokens_.add(static_cast<double>(end.usage.completion_tokens));
  cached_tokens_.add(static_cast<double>(end.usage.cached_tokens));
  metrics_
      .counter("plumb_finished_total", "finished choices by reason",
               {{"reason", std::string(finish_reason_text(end.reason))}})
      .add();
}

}  // namespace plumb
