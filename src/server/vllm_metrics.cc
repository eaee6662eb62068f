// SPDX-License-Identifier: Apache-2.0
// The names of vLLM's metrics (its v1 engine). All buckets are that server's.
#include "server/metrics_dialect.h"

namespace plumb {
namespace {

const std::vector<double> kVllmTtftBounds{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                          1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
const std::vector<double> kVllmPerTokenBounds{.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                              .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
const std::vector<double> kVllmLatencyBounds{.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                             30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
const std::vector<double> kVllmChoiceBounds{1, 2, 5, 10, 20};
const std::vector<double> kStepTokenBounds{1,   8,    16,   32,   64,   128,  256,
                                           512, 1024, 2048, 4096, 8192, 16384};

class VllmMetrics final : public MetricsDialect {
 public:
  explicit VllmMetrics(const MetricsSource& source)
      : metrics_(source.metrics),
        server_(source.server),
        labels_{{"model_name", source.model_name}, {"engine", "0"}} {
    add_latencies(source.server.measures);
    add_sizes(source.server.measures, source.context_len);
    if (source.steps != nullptr) {
      source.steps->add_tokens(
          histogram("iteration_tokens_total", "tokens computed in a step", kStepTokenBounds));
    }
  }

  void update(const EngineStats& stats, const ConstraintStats&, Clock::TimePoint) override {
    gauge("num_requests_running", "sequences in the running batch", stats.num_running);
    gauge("num_requests_waiting", "sequences that wait", stats.num_waiting);
    metrics_.gauge("vllm:kv_cache_usage_perc", "part of the KV cache in use, 0 to 1", labels_)
        .set(stats.kv_usage());
    counter("num_preemptions_total", "preemptions", stats.num_preemptions);
    counter("prompt_tokens_total", "prompt tokens of started sequences", stats.prompt_tokens);
    counter("generation_tokens_total", "tokens produced", stats.completion_tokens);
    counter("prefix_cache_queries_total", "prompt tokens looked for in the prefix cache",
            stats.prompt_tokens);
    counter("prefix_cache_hits_total", "prompt tokens found in the prefix cache",
            stats.cached_tokens);
    finished("stop", server_.finished_stop);
    finished("length", server_.finished_length);
    finished("abort", server_.finished_abort);
    metrics_
        .gauge("vllm:cache_config_info", "how the KV cache is laid out",
               {{"block_size", std::to_string(stats.block_size)},
                {"num_gpu_blocks", std::to_string(stats.num_blocks)},
                {"engine", "0"}})
        .set(1);
  }

 private:
  void add_latencies(ServerMeasures& measures) {
    measures.time_to_first_token.add(
        histogram("time_to_first_token_seconds", "time to the first token", kVllmTtftBounds));
    measures.token_gap.add(
        histogram("inter_token_latency_seconds", "time between tokens", kVllmPerTokenBounds));
    measures.time_per_token.add(histogram("request_time_per_output_token_seconds",
                                          "mean time of a request's tokens after the first",
                                          kVllmPerTokenBounds));
    const auto latency = [&](Measure ServerMeasures::*measure, const char* name, const char* help) {
      (measures.*measure).add(histogram(name, help, kVllmLatencyBounds));
    };
    using M = ServerMeasures;
    latency(&M::request_time, "e2e_request_latency_seconds", "from arrival to the last token");
    latency(&M::queue_time, "request_queue_time_seconds", "time in the queue");
    latency(&M::prefill_time, "request_prefill_time_seconds", "first step to first token");
    latency(&M::decode_time, "request_decode_time_seconds", "first token to last token");
    latency(&M::inference_time, "request_inference_time_seconds", "first step to last token");
  }

  void add_sizes(ServerMeasures& measures, std::int64_t context_len) {
    const std::vector<double> bounds = one_two_five_bounds(context_len);
    measures.prompt_tokens.add(
        histogram("request_prompt_tokens", "prompt tokens of a request", bounds));
    measures.completion_tokens.add(
        histogram("request_generation_tokens", "generated tokens of a request", bounds));
    measures.most_completion_tokens.add(histogram(
        "request_max_num_generation_tokens", "generated tokens of the longest choice", bounds));
    measures.max_tokens.add(
        histogram("request_params_max_tokens", "max_tokens of a request", bounds));
    measures.num_choices.add(histogram("request_params_n", "n of a request", kVllmChoiceBounds));
  }

  Histogram histogram(const std::string& name, const char* help,
                      const std::vector<double>& bounds) {
    return metrics_.histogram("vllm:" + name, help, bounds, labels_);
  }

  void gauge(const std::string& name, const char* help, std::int64_t value) {
    metrics_.gauge("vllm:" + name, help, labels_).set(static_cast<double>(value));
  }

  void counter(const std::string& name, const char* help, std::int64_t total) {
    metrics_.counter("vllm:" + name, help, labels_).raise_to(static_cast<double>(total));
  }

  void finished(const char* reason, const Counter& total) {
    MetricLabels labels = labels_;
    labels["finished_reason"] = reason;
    metrics_.counter("vllm:request_success_total", "ended requests by reason", labels)
        .raise_to(total.value());
  }

  Metrics& metrics_;
  const ServerMetrics& server_;
  const MetricLabels labels_;
};

}  // namespace

std::unique_ptr<MetricsDialect> make_vllm_metrics(const MetricsSource& source) {
  return std::make_unique<VllmMetrics>(source);
}

}  // namespace plumb
