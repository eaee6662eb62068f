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
  const auto set = [&](const char* name, const char* help, double value) {
    metrics.gauge(name, help).set(value);
  };
  set("plumb_grammar_compiled", "schemas and grammars compiled since the start",
      static_cast<double>(stats.num_compiled));
  set("plumb_grammar_compile_seconds", "time spent on compiling them, failures included",
      seconds(stats.compile_time));
  set("plumb_grammar_failed", "schemas and grammars that were refused, time-outs included",
      static_cast<double>(stats.num_failed));
  set("plumb_grammar_timeouts", "compilations that took too long",
      static_cast<double>(stats.num_timeouts));
  set("plumb_grammar_cancelled", "compilations given up because the client had left",
      static_cast<double>(stats.num_cancelled));
  set("plumb_grammar_cache_hits", "constrained requests whose grammar was known",
      static_cast<double>(stats.num_cache_hits));
  set("plumb_grammar_warmed_masks", "token masks made before a request wanted them",
      static_cast<double>(stats.num_warmed_masks));
  set("plumb_grammar_cache_bytes", "memory of the known grammars",
      static_cast<double>(stats.cache_bytes));
}

void export_scheduler(const EngineStats& stats, Metrics& metrics) {
  const auto refused = [&](const char* reason, std::int64_t value) {
    metrics
        .gauge("plumb_admission_rejects", "requests refused since the start, by reason",
               {{"reason", reason}})
        .set(static_cast<double>(value));
  };
  refused("queued_requests", stats.num_refused_requests);
  refused("queued_tokens", stats.num_refused_tokens);
  refused("predicted_ttft", stats.num_refused_ttft);
  refused("less_important", stats.num_displaced_waiting);
  const auto set = [&](const char* name, const char* help, double value) {
    metrics.gauge(name, help).set(value);
  };
  set("plumb_predicted_ttft_seconds",
      "time in the queue of a request that comes now; 0 = none, NaN = unknown",
      stats.predicted_ttft ? seconds(*stats.predicted_ttft)
                           : std::numeric_limits<double>::quiet_NaN());
  set("plumb_recompute_tokens", "prompt tokens computed again after preemption",
      static_cast<double>(stats.recompute_tokens));
  set("plumb_displacements", "preemptions for more important requests since the start",
      static_cast<double>(stats.num_displaced));
  set("plumb_passing", "requests started past one that had no room in the KV cache",
      static_cast<double>(stats.num_passing));
  set("plumb_prefill_allowance_tokens", "prompt tokens that the last step's time left",
      static_cast<double>(stats.prefill_allowance));
  set("plumb_planner_seconds", "time that the scheduler took since the start",
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
  set("plumb_kv_window_blocks", "blocks of the KV cache for layers with a window",
      stats.num_window_blocks);
  set("plumb_kv_window_blocks_used", "of these, blocks held by running sequences",
      stats.num_used_window_blocks());
  set("plumb_kv_window_blocks_cached", "of these, blocks in the prefix cache",
      stats.num_cached_window_blocks);
  set("plumb_kv_window_blocks_passed", "blocks given back behind the window since the start",
      stats.num_passed_window_blocks);
  set("plumb_kv_window_evicted_blocks", "window blocks evicted from the prefix cache",
      stats.num_evicted_window_blocks);
  set("plumb_prefix_window_misses",
      "sequences that began with less of a cached prefix because its window was not whole",
      stats.num_cut_prefixes);
}

}  // namespace

std::shared_ptr<Generation> TextService::new_generation(GenerationListener& listener,
                                                        Generation::Executor executor) {
  return Generation::create(engine_, model_.tokenizer(), listener, std::move(executor));
}

std::int64_t TextService::max_choices() const {
  return engine_.max_queued_requests() + engine_.options().max_num_seqs;
}

bool TextService::is_healthy(std::chrono::nanoseconds max_age) const {
  const Heartbeat beat = engine_.heartbeat();
  return engine_.stats().state == EngineState::kServing &&
         !(beat.is_busy && clock_.now() - beat.last_beat > max_age);
}

void TextService::export_metrics(Metrics& metrics) const {
  const EngineStats stats = engine_.stats();
  export_scheduler(stats, metrics);
  const auto set = [&](const char* name, const char* help, std::int64_t value) {
    metrics.gauge(name, help).set(static_cast<double>(value));
  };
  set("plumb_requests_running", "sequences in the running batch", stats.num_running);
  set("plumb_requests_waiting", "sequences that wait", stats.num_waiting);
  set("plumb_kv_blocks", "blocks of the KV cache", stats.num_blocks);
  set("plumb_kv_blocks_used", "blocks held by running sequences", stats.num_used_blocks());
  set("plumb_kv_blocks_cached", "blocks in the prefix cache", stats.num_cached_blocks);
  export_windows(stats, metrics);
  set("plumb_steps", "steps since the start", stats.num_steps);
  set("plumb_preemptions", "preemptions since the start", stats.num_preemptions);
  set("plumb_kv_evicted_blocks", "blocks evicted from the prefix cache", stats.num_evicted_blocks);
  set("plumb_prefix_queries", "sequences that looked for a cached prefix when they were started",
      stats.num_prefix_queries);
  set("plumb_prefix_hits", "of these, sequences that began with cached tokens",
      stats.num_prefix_hits);
  set("plumb_prefix_query_tokens", "prompt tokens of these sequences", stats.prompt_tokens);
  set("plumb_prefix_hit_tokens", "of these, tokens found in the prefix cache", stats.cached_tokens);
  set("plumb_prefix_tail_copies", "partial blocks copied instead of computed",
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
  set("plumb_prefill_tokens", "prompt tokens computed, again after preemption included",
      stats.prefill_tokens);
  set("plumb_generated_tokens", "tokens produced since the start", stats.completion_tokens);
  set("plumb_aborted", "sequences aborted since the start", stats.num_aborted);
  export_tier_metrics(stats.tiers, metrics);
  metrics
      .histogram("plumb_grammar_mask_seconds", "time that the token mask of a grammar took",
                 {MaskTimes::kBoundSeconds.begin(), MaskTimes::kBoundSeconds.end()})
      .set(stats.mask_times.counts, seconds(stats.mask_times.total));
  set("plumb_grammar_forced_tokens", "tokens that grammars dictated, without a choice",
      stats.num_forced_tokens);
  export_constraints(constraints_.stats(), metrics);
}

}  // namespace plumb
