// SPDX-License-Identifier: Apache-2.0
// The names of llama.cpp's metrics; they have no labels.
#include "server/metrics_dialect.h"

namespace plumb {
namespace {

double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

class LlamacppMetrics final : public MetricsDialect {
 public:
  explicit LlamacppMetrics(const MetricsSource& source)
      : metrics_(source.metrics), server_(source.server) {}

  void update(const EngineStats& stats, const ConstraintStats&, Clock::TimePoint) override {
    const double num_prompt = server_.prompt_tokens.value() - server_.cached_tokens.value();
    const double num_predicted = server_.completion_tokens.value();
    const double prompt_seconds = server_.prefill_seconds.value();
    const double predicted_seconds = server_.decode_seconds.value();
    counter("prompt_tokens_total", "prompt tokens of ended requests that were computed",
            num_prompt);
    counter("prompt_seconds_total", "time of ended requests up to their first token",
            prompt_seconds);
    counter("tokens_predicted_total", "generated tokens of ended requests", num_predicted);
    counter("tokens_predicted_seconds_total", "time of ended requests after their first token",
            predicted_seconds);
    counter("n_decode_total", "steps of the engine", static_cast<double>(stats.num_steps));
    gauge("n_busy_slots_per_decode", "mean number of sequences in a step",
          rate(static_cast<double>(stats.num_step_seqs), static_cast<double>(stats.num_steps)));
    gauge("prompt_tokens_seconds", "prompt tokens in a second, mean of ended requests",
          rate(num_prompt, prompt_seconds));
    gauge("predicted_tokens_seconds", "generated tokens in a second, mean of ended requests",
          rate(num_predicted, predicted_seconds));
    gauge("kv_cache_usage_ratio", "part of the KV cache in use, 0 to 1", stats.kv_usage());
    gauge("kv_cache_tokens", "tokens whose place in the KV cache is in use",
          static_cast<double>(stats.num_used_blocks() * stats.block_size));
    gauge("requests_processing", "sequences in the running batch",
          static_cast<double>(stats.num_running));
    gauge("requests_deferred", "sequences that wait", static_cast<double>(stats.num_waiting));
  }

 private:
  void counter(const std::string& name, const char* help, double total) {
    metrics_.counter("llamacpp:" + name, help).raise_to(total);
  }

  void gauge(const std::string& name, const char* help, double value) {
    metrics_.gauge("llamacpp:" + name, help).set(value);
  }

  Metrics& metrics_;
  const ServerMetrics& server_;
};

}  // namespace

std::unique_ptr<MetricsDialect> make_llamacpp_metrics(const MetricsSource& source) {
  return std::make_unique<LlamacppMetrics>(source);
}

}  // namespace plumb
