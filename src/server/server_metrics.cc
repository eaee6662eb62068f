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
const std::vector<double> kHttpBounds{.001, .0025, .005, .01, .025, .05, .1,  .25, .5,
                                      1,    2.5,   5,    10,  30,   60,  120, 480, 1920};
const std::vector<double> kCompileBounds{.001, .0025, .005, .01, .025, .05, .1,
                                         .25,  .5,    1,    2.5, 5,    10};
const std::vector<double> kChoiceBounds{1, 2, 5, 10, 20, 50, 100};

}  // namespace

double seconds_since(Clock::TimePoint begin, Clock::TimePoint now) {
  return std::chrono::duration<double>(now - begin).count();
}

std::vector<double> one_two_five_bounds(std::int64_t most) {
  std::vector<double> bounds;
  for (std::int64_t decade = 1; decade <= most; decade *= 10) {
    for (const std::int64_t mantissa : {1, 2, 5}) {
      if (mantissa * decade <= most) {
        bounds.push_back(static_cast<double>(mantissa * decade));
      }
    }
  }
  return bounds;
}

ServerMetrics::ServerMetrics(Metrics& metrics, std::int64_t context_len)
    : preparing(
          metrics.gauge("plumb_requests_preparing",
                        "requests whose large body is parsed and tokenised, or waits for it")),
      prompt_tokens(
          metrics.counter("plumb_prompt_tokens_total", "prompt tokens of finished choices")),
      completion_tokens(
          metrics.counter("plumb_completion_tokens_total", "generated tokens of finished choices")),
      cached_tokens(
          metrics.counter("plumb_cached_tokens_total", "prompt tokens found in the prefix cache")),
      prefill_seconds(metrics.counter("plumb_prefill_seconds_total",
                                      "time of finished choices up to their first token")),
      decode_seconds(metrics.counter("plumb_decode_seconds_total",
                                     "time of finished choices after their first token")),
      metrics_(metrics) {
  const auto finished = [&](const char* reason) {
    return metrics.counter("plumb_finished_total", "ended choices by reason", {{"reason", reason}});
  };
  finished_stop = finished("stop");
  finished_length = finished("length");
  finished_abort = finished("abort");
  const std::vector<double> token_bounds = one_two_five_bounds(context_len);
  const auto add = [&](Measure ServerMeasures::*measure, const char* name, const char* help,
                       const std::vector<double>& bounds) {
    (measures.*measure).add(metrics.histogram(name, help, bounds));
  };
  using M = ServerMeasures;
  add(&M::time_to_first_token, "plumb_time_to_first_token_seconds",
      "from the request's arrival to its first token", kTtftBounds);
  add(&M::token_gap, "plumb_inter_token_seconds",
      "time between tokens of a choice as they are sent", kPerTokenBounds);
  add(&M::queue_time, "plumb_request_queue_time_seconds", "from submission to the first step",
      kLatencyBounds);
  add(&M::prefill_time, "plumb_request_prefill_time_seconds",
      "from the first step to the first token", kLatencyBounds);
  add(&M::decode_time, "plumb_request_decode_time_seconds", "from the first token to the last one",
      kLatencyBounds);
  add(&M::inference_time, "plumb_request_inference_time_seconds",
      "from the first step to the last token", kLatencyBounds);
  add(&M::request_time, "plumb_request_time_seconds",
      "from the request's arrival to the end of a choice", kLatencyBounds);
  add(&M::time_per_token, "plumb_request_time_per_output_token_seconds",
      "time of decoding by tokens after the first one", kPerTokenBounds);
  add(&M::preemptions, "plumb_request_preemptions", "preemptions of a choice", kPreemptionBounds);
  add(&M::prompt_tokens, "plumb_request_prompt_tokens", "prompt tokens of a choice", token_bounds);
  add(&M::completion_tokens, "plumb_request_completion_tokens", "generated tokens of a choice",
      token_bounds);
  add(&M::most_completion_tokens, "plumb_request_most_completion_tokens",
      "generated tokens of a request's longest choice", token_bounds);
  add(&M::num_choices, "plumb_request_choices", "choices of a request", kChoiceBounds);
  add(&M::max_tokens, "plumb_request_max_tokens", "max_tokens of a request that says it",
      token_bounds);
  add(&M::compile_time, "plumb_grammar_compile_time_seconds",
      "processor time to compile a schema or grammar that was not known, failures included",
      kCompileBounds);
}

void ServerMetrics::count_request(const std::string& route, int http_status, double seconds) {
  metrics_
      .counter("plumb_http_requests_total", "answered requests",
               {{"route", route}, {"status", std::to_string(http_status)}})
      .add();
  metrics_
      .histogram("plumb_http_request_seconds", "from arrival to the end of the answer", kHttpBounds,
                 {{"route", route}})
      .observe(seconds);
}

void ServerMetrics::count_end(const ChoiceEnd& end, double seconds) {
  const auto num_prompt = static_cast<double>(end.usage.prompt_tokens);
  const auto num_completion = static_cast<double>(end.usage.completion_tokens);
  prompt_tokens.add(num_prompt);
  completion_tokens.add(num_completion);
  cached_tokens.add(static_cast<double>(end.usage.cached_tokens));
  (end.reason == FinishReason::kLength ? finished_length : finished_stop).add();
  const Timings& t = end.timings;
  const double prefill = seconds_since(t.scheduled, t.first_token);
  const double decode = seconds_since(t.first_token, t.last_token);
  prefill_seconds.add(prefill);
  decode_seconds.add(decode);
  measures.queue_time.observe(seconds_since(t.submitted, t.scheduled));
  measures.prefill_time.observe(prefill);
  measures.decode_time.observe(decode);
  measures.inference_time.observe(prefill + decode);
  measures.request_time.observe(seconds);
  if (end.usage.completion_tokens > 1) {
    measures.time_per_token.observe(decode / (num_completion - 1));
  }
  measures.preemptions.observe(static_cast<double>(t.num_preemptions));
  measures.prompt_tokens.observe(num_prompt);
  measures.completion_tokens.observe(num_completion);
}

void ServerMetrics::count_aborted(std::int64_t num_choices) {
  finished_abort.add(static_cast<double>(num_choices));
}

void ServerMetrics::count_answer(std::int64_t num_choices, std::int64_t most_completion_tokens,
                                 std::int64_t max_tokens) {
  measures.num_choices.observe(static_cast<double>(num_choices));
  measures.most_completion_tokens.observe(static_cast<double>(most_completion_tokens));
  if (max_tokens > 0) {
    measures.max_tokens.observe(static_cast<double>(max_tokens));
  }
}

}  // namespace plumb
