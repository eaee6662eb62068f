// SPDX-License-Identifier: Apache-2.0
// The names of SGLang's metrics. All buckets are that server's defaults.
#include "server/metrics_dialect.h"

namespace plumb {
namespace {

const std::vector<double> kSglangTtftBounds{.1, .2, .4, .6, .8, 1,  2,   4,   6,
                                            8,  10, 20, 40, 60, 80, 100, 200, 400};
const std::vector<double> kTokenGapBounds{.002, .004, .006, .008, .01, .015, .02, .025,
                                          .03,  .035, .04,  .06,  .08, .1,   .2,  .4,
                                          .6,   .8,   1,    2,    4,   6,    8};
const std::vector<double> kRequestBounds{.1, .2, .4, .6, .8,  1,   2,   4,   6,    8,    10,
                                         20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400};
const std::vector<double> kQueueBounds{0,   .1,   .2,   .5,   1,    2,    3,    4,    5,
                                       10,  15,   20,   30,   40,   50,   60,   70,   80,
                                       90,  100,  200,  300,  400,  500,  600,  700,  800,
                                       900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000};
const std::vector<double> kSglangCompileBounds{0, .01, .02, .05, .1, .2, .5,  1,  2,
                                               5, 10,  20,  30,  60, 90, 120, 240};
constexpr int kNumStageBounds = 30;  // from 1 ms, each 1.62 times the one before

std::vector<double> stage_bounds() {
  std::vector<double> bounds{.001};
  while (bounds.size() < kNumStageBounds) {
    bounds.push_back(bounds.back() * 1.62);
  }
  return bounds;
}

class SglangMetrics final : public MetricsDialect {
 public:
  explicit SglangMetrics(const MetricsSource& source)
      : metrics_(source.metrics),
        server_(source.server),
        labels_{{"model_name", source.model_name}},
        engine_labels_{{"model_name", source.model_name},
                       {"engine_type", "unified"},
                       {"tp_rank", "0"},
                       {"pp_rank", "0"},
                       {"moe_ep_rank", "0"}} {
    ServerMeasures& measures = source.server.measures;
    const auto histogram = [&](const std::string& name, const char* help,
                               const std::vector<double>& bounds, const MetricLabels& labels) {
      return metrics_.histogram("sglang:" + name, help, bounds, labels);
    };
    measures.time_to_first_token.add(histogram(
        "time_to_first_token_seconds", "time to the first token", kSglangTtftBounds, labels_));
    measures.token_gap.add(
        histogram("inter_token_latency_seconds", "time between tokens", kTokenGapBounds, labels_));
    measures.request_time.add(histogram("e2e_request_latency_seconds",
                                        "from arrival to the last token", kRequestBounds, labels_));
    measures.queue_time.add(
        histogram("queue_time_seconds", "time in the queue", kQueueBounds, engine_labels_));
    measures.compile_time.add(histogram("grammar_compilation_time_seconds",
                                        "time to compile a grammar", kSglangCompileBounds,
                                        engine_labels_));
    const auto stage = [&](const char* name) {
      MetricLabels labels = engine_labels_;
      labels["stage"] = name;
      return histogram("per_stage_req_latency_seconds", "time of each stage of a request",
                       stage_bounds(), labels);
    };
    measures.queue_time.add(stage("prefill_waiting"));
    measures.prefill_time.add(stage("prefill_forward"));
    measures.decode_time.add(stage("decode_forward"));
  }

  void update(const EngineStats& stats, const ConstraintStats& constraints,
              Clock::TimePoint now) override {
    const auto num_used = static_cast<double>(stats.num_used_blocks() * stats.block_size);
    gauge("num_running_reqs", "sequences in the running batch", stats.num_running);
    gauge("num_queue_reqs", "sequences that wait", stats.num_waiting);
    set("num_used_tokens", "tokens whose place in the KV cache is in use", num_used);
    set("token_usage", "part of the KV cache in use, 0 to 1", stats.kv_usage());
    gauge("max_total_num_tokens", "tokens that the KV cache holds",
          stats.num_blocks * stats.block_size);
    set("cache_hit_rate", "part of the prompt tokens found in the prefix cache",
        stats.prefix_hit_rate());
    update_rates(stats, now);
    if (stats.tiers.is_on) {
      gauge("hicache_host_used_tokens", "tokens that the cache in memory holds",
            stats.tiers.host.num_blocks * stats.block_size);
    }
    total("num_retracted_requests_total", "preemptions", stats.num_preemptions);
    total("num_grammar_cache_hit_total", "requests whose grammar was known",
          constraints.num_cache_hits);
    total("num_grammar_timeout_total", "grammars that took too long", constraints.num_timeouts);
    realtime("prefill_compute", stats.prefill_tokens);
    realtime("prefill_cache", stats.cached_tokens);
    realtime("decode", stats.completion_tokens);
    ended("prompt_tokens_total", "prompt tokens of ended requests", server_.prompt_tokens.value());
    ended("generation_tokens_total", "generated tokens of ended requests",
          server_.completion_tokens.value());
    ended("cached_tokens_total", "cached prompt tokens of ended requests",
          server_.cached_tokens.value());
    ended("num_requests_total", "ended requests",
          server_.finished_stop.value() + server_.finished_length.value());
    ended("num_aborted_requests_total", "requests that ended before their time",
          server_.finished_abort.value());
  }

 private:
  // Of the time since they were asked for last, which is at least a second.
  void update_rates(const EngineStats& stats, Clock::TimePoint now) {
    const double elapsed = seconds_since(last_update_, now);
    if (last_update_ == Clock::TimePoint() || elapsed >= 1) {
      const bool is_first = last_update_ == Clock::TimePoint();
      throughput_ =
          is_first ? 0 : static_cast<double>(stats.completion_tokens - last_tokens_) / elapsed;
      num_retracted_ = stats.num_preemptions - last_preemptions_;
      last_update_ = now;
      last_tokens_ = stats.completion_tokens;
      last_preemptions_ = stats.num_preemptions;
    }
    set("gen_throughput", "tokens produced in a second, since the metrics were read last",
        throughput_);
    gauge("num_retracted_reqs", "preemptions since the metrics were read last", num_retracted_);
  }

  void set(const std::string& name, const char* help, double value) {
    metrics_.gauge("sglang:" + name, help, engine_labels_).set(value);
  }

  void gauge(const std::string& name, const char* help, std::int64_t value) {
    set(name, help, static_cast<double>(value));
  }

  void total(const std::string& name, const char* help, std::int64_t value) {
    metrics_.counter("sglang:" + name, help, engine_labels_).raise_to(static_cast<double>(value));
  }

  void ended(const std::string& name, const char* help, double value) {
    metrics_.counter("sglang:" + name, help, labels_).raise_to(value);
  }

  void realtime(const char* mode, std::int64_t value) {
    MetricLabels labels = engine_labels_;
    labels["mode"] = mode;
    metrics_.counter("sglang:realtime_tokens_total", "tokens processed, by what was done", labels)
        .raise_to(static_cast<double>(value));
  }

  Metrics& metrics_;
  const ServerMetrics& server_;
  const MetricLabels labels_;         // of what SGLang counts in front of its scheduler
  const MetricLabels engine_labels_;  // of what its scheduler counts
  Clock::TimePoint last_update_;
  std::int64_t last_tokens_ = 0;
  std::int64_t last_preemptions_ = 0;
  double throughput_ = 0;
  std::int64_t num_retracted_ = 0;
};

}  // namespace

std::unique_ptr<MetricsDialect> make_sglang_metrics(const MetricsSource& source) {
  return std::make_unique<SglangMetrics>(source);
}

}  // namespace plumb
