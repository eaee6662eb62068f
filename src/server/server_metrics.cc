// SPDX-License-Identifier: Apache-2.0
#include "server/server_metrics.h"

namespace plumb {
namespace {

const std::vector<double> kTtftBounds{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                      1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
const std::vector<double> kPerTokenBounds{.001, .0025, .005, .01, .025, .05, .075, .1, .15, .2, .3,
                                          .4,   .5,    .75,  1,   2.5,  5,   7.5,  10, 20,  40, 80};
const std::vector<double> kPreemptionBounds{0, 1, 2, 3, 5, 10};
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
      preparing(
          metrics.gauge("plumb_requests_preparing",
                        "requests whose large body is parsed and tokenised, or waits for it")),
      metrics_(metrics),
      prompt_tokens_(
          metrics.counter("plumb_prompt_tokens_total", "prompt tokens of finished choices")),
      completion_tokens_(
          metrics.counter("plumb_completion_tokens_total", "generated tokens of finished choices")),
      cached_tokens_(
          metrics.counter("plumb_cached_tokens_total", "prompt tokens found in the prefix cache")),
      queue_time_(metrics.histogram("plumb_request_queue_time_seconds",
                                    "from submission to the first step", kLatencyBounds)),
      prefill_time_(metrics.histogram("plumb_request_prefill_time_seconds",
                                      "from the first step to the first token", kLatencyBounds)),
      decode_time_(metrics.histogram("plumb_request_decode_time_seconds",
                                     "from the first token to the last one", kLatencyBounds)),
      time_per_token_(metrics.histogram("plumb_request_time_per_output_token_seconds",
                                        "time of decoding by tokens after the first one",
                                        kPerTokenBounds)),
      preemptions_(metrics.histogram("plumb_request_preemptions", "preemptions of a choice",
                                     kPreemptionBounds)) {}

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
  const Timings& t = end.timings;
  queue_time_.observe(seconds_since(t.submitted, t.scheduled));
  prefill_time_.observe(seconds_since(t.scheduled, t.first_token));
  decode_time_.observe(seconds_since(t.first_token, t.last_token));
  if (end.usage.completion_tokens > 1) {
    time_per_token_.observe(seconds_since(t.first_token, t.last_token) /
                            static_cast<double>(end.usage.completion_tokens - 1));
  }
  preemptions_.observe(static_cast<double>(t.num_preemptions));
}

}  // namespace plumb
