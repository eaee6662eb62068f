// SPDX-License-Identifier: Apache-2.0
#include "frontend/text_service.h"

#include <limits>
#include <utility>

#include "frontend/tier_metrics.h"

namespace plumb {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void export_constraints(const ConstraintStats& stats, Metrics& metrics) {
  const auto total = [&](const char* name, const char* help, double value) {
    metrics.counter(name, help).raise_to(value);
  };
  total("plumb_grammar_compiled_total", "schemas and grammars compiled since the start",
        static_cast<double>(stats.num_compiled));
  total("plumb_grammar_compile_seconds_total",
        "processor time of compiling them, failures included", seconds(stats.compile_time));
  total("plumb_grammar_failed_total", "schemas and grammars that were refused, time-outs included",
        static_cast<double>(stats.num_failed));
  total("plumb_grammar_timeouts_total", "compilations that took too long",
        static_cast<double>(stats.num_timeouts));
  total("plumb_grammar_cancelled_total", "compilations given up because the client had left",
        static_cast<double>(stats.num_cancelled));
  total("plumb_grammar_cache_hits_total", "constrained requests whose grammar was known",
        static_cast<double>(stats.num_cache_hits));
  total("plumb_grammar_warmed_masks_total", "token masks made before a request wanted them",
        static_cast<double>(stats.num_warmed_masks));
  metrics.gauge("plumb_grammar_cache_bytes", "memory of the known grammars")
      .set(static_cast<double>(stats.cache_bytes));
}

void export_scheduler(const EngineStats& stats, Metrics& metrics) {
  const auto refused = [&](const char* reason, std::int64_t value) {
    metrics
        .counter("plumb_admission_rejects_total", "requests refused since the start, by reason",
                 {{"reason", reason}})
        .raise_to(static_cast<double>(value));
  };
  refused("queued_requests", stats.num_refused_requests);
  refused("queued_tokens", stats.num_refused_tokens);
  refused("predicted_ttft", stats.num_refused_ttft);
  refused("less_important", stats.num_displaced_waiting);
  const auto set = [&](const char* name, const char* help, double value) {
    metrics.gauge(name, help).set(value);
  };
  const auto total = [&](const char* name, const char* help, double value) {
    metrics.counter(name, help).raise_to(value);
  };
  set("plumb_predicted_ttft_seconds",
      "time in the queue of a request that comes now; 0 = none, NaN = unknown",
      stats.predicted_ttft ? seconds(*stats.predicted_ttft)
                           : std::numeric_limits<double>::quiet_NaN());
  total("plumb_recompute_tokens_total", "prompt tokens computed again after preemption",
        static_cast<double>(stats.recompute_tokens));
  total("plumb_displacements_total", "preemptions for more important requests since the start",
        static_cast<double>(stats.num_displaced));
  total("plumb_passing_total", "requests started past one that had no room in the KV cache",
        static_cast<double>(stats.num_passing));
  set("plumb_prefill_allowance_tokens", "prompt tokens that the last step's time left",
      static_cast<double>(stats.prefill_allowance));
  total("plumb_planner_seconds_total", "time that the scheduler took since the start",
        seconds(stats.planner_time));
}

// Of the layers with a window, where the model has such.
void export_windows(const EngineStats& stats, Metrics& metrics) {
  if (stats.num_window_blocks == 0) {
    return;
  }
  const auto set = [&](const char* name, const char* help, std::int64_t value) {
    metrics.gauge(name, help).set(static_cast<double>(value));
  };
  const auto total = [&](const char* name, const char* help, std::int64_t value) {
    metrics.counter(name, help).raise_to(static_cast<double>(value));
  };
  set("plumb_kv_window_blocks", "blocks of the KV cache for layers with a window",
      stats.num_window_blocks);
  set("plumb_kv_window_blocks_used", "of these, blocks held by running sequences",
      stats.num_used_window_blocks());
  set("plumb_kv_window_blocks_cached", "of these, blocks in the prefix cache",
      stats.num_cached_window_blocks);
  total("plumb_kv_window_blocks_passed_total",
        "blocks given back behind the window since the start", stats.num_passed_window_blocks);
  total("plumb_kv_window_evicted_blocks_total", "window blocks evicted from the prefix cache",
        stats.num_evicted_window_blocks);
  total("plumb_prefix_window_misses_total",
        "sequences that began with less of a cached prefix because its window was not whole",
        stats.num_cut_prefixes);
}

}  // namespace

std::shared_ptr<Generation> TextService::new_generation(GenerationListener& listener,
                                                        Generation::Executor executor) {
  return Generation::create(*engine_, model_.tokenizer(), listener, std::move(executor));
}

std::int64_t TextService::max_choices() const {
  return engine_->max_queued_requests() + engine_->options().max_num_seqs;
}

bool TextService::is_healthy(std::chrono::nanoseconds max_age) const {
  if (!can_generate()) {
    return true;
  }
  const Heartbeat beat = engine_->heartbeat();
  return engine_->stats().state == EngineState::kServing &&
         !(beat.is_busy && clock_.now() - beat.last_beat > max_age);
}

void TextService::export_metrics(Metrics& metrics) const {
  if (!can_generate()) {
    return;
  }
  const EngineStats stats = engine_->stats();
  export_scheduler(stats, metrics);
  const auto set = [&](const char* name, const char* help, std::int64_t value) {
    metrics.gauge(name, help).set(static_cast<double>(value));
  };
  const auto total = [&](const char* name, const char* help, std::int64_t value) {
    metrics.counter(name, help).raise_to(static_cast<double>(value));
  };
  set("plumb_requests_running", "sequences in the running batch", stats.num_running);
  set("plumb_requests_waiting", "sequences that wait", stats.num_waiting);
  set("plumb_kv_blocks", "blocks of the KV cache", stats.num_blocks);
  set("plumb_kv_blocks_used", "blocks held by running sequences", stats.num_used_blocks());
  set("plumb_kv_blocks_cached", "blocks in the prefix cache", stats.num_cached_blocks);
  export_windows(stats, metrics);
  total("plumb_steps_total", "steps since the start", stats.num_steps);
  total("plumb_steps_ahead_total", "of these, steps launched while the one before was under way",
        stats.num_ahead_steps);
  total("plumb_preemptions_total", "preemptions since the start", stats.num_preemptions);
  total("plumb_kv_evicted_blocks_total", "blocks evicted from the prefix cache",
        stats.num_evicted_blocks);
  total("plumb_prefix_queries_total",
        "sequences that looked for a cached prefix when they were started",
        stats.num_prefix_queries);
  total("plumb_prefix_hits_total", "of these, sequences that began with cached tokens",
        stats.num_prefix_hits);
  total("plumb_prefix_query_tokens_total", "prompt tokens of these sequences", stats.prompt_tokens);
  total("plumb_prefix_hit_tokens_total", "of these, tokens found in the prefix cache",
        stats.cached_tokens);
  total("plumb_prefix_tail_copies_total", "partial blocks copied instead of computed",
        stats.num_tail_copies);
  metrics.gauge("plumb_kv_usage", "part of the KV cache held by running sequences")
      .set(stats.kv_usage());
  metrics
      .gauge("plumb_prefix_hit_rate",
             "part of the prompt tokens found in the prefix cache at the first start; what is "
             "computed again after a preemption does not count")
      .set(stats.prefix_hit_rate());
  if (has_kv_events()) {
    metrics.gauge("plumb_kv_event_seq", "number of the next batch of cache events")
        .set(static_cast<double>(next_kv_event()));
  }
  total("plumb_prefill_tokens_total", "prompt tokens computed, again after preemption included",
        stats.prefill_tokens);
  total("plumb_generated_tokens_total", "tokens produced since the start", stats.completion_tokens);
  total("plumb_aborted_total", "sequences aborted since the start", stats.num_aborted);
  export_tier_metrics(stats.tiers, metrics);
  metrics
      .histogram("plumb_grammar_mask_seconds", "time that the token mask of a grammar took",
                 {MaskTimes::kBoundSeconds.begin(), MaskTimes::kBoundSeconds.end()})
      .set(stats.mask_times.counts, seconds(stats.mask_times.total));
  total("plumb_grammar_forced_tokens_total", "tokens that grammars dictated, without a choice",
        stats.num_forced_tokens);
  export_constraints(constraints_.stats(), metrics);
}

}  // namespace plumb
