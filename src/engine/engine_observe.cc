// SPDX-License-Identifier: Apache-2.0
// What the engine tells of itself, and whether it is sound.
#include <vector>

#include "engine/engine_core.h"

namespace plumb {

void EngineCore::observe(const StepJob& job) {
  const StepStats& step = job.stats;
  ++totals_.num_steps;
  totals_.num_ahead_steps += job.is_ahead ? 1 : 0;
  totals_.num_step_seqs += std::ssize(job.picks);
  totals_.num_mixed_steps += step.num_decode_rows > 0 && step.num_prefill_seqs > 0 ? 1 : 0;
  totals_.num_preemptions += step.num_preempted;
  totals_.num_evicted_blocks += step.num_evicted_blocks;
  totals_.prefill_tokens += step.num_prefill_tokens;
  totals_.plan_time += step.plan_time;
  totals_.model_time += step.model_time;
  totals_.sample_time += step.sample_time;
  if (!job.picks.empty()) {
    totals_.mask_times = job.mask_times;
  }
  totals_.planner_time += step.planner_time;
  totals_.recompute_tokens += step.num_recompute_tokens;
  totals_.num_displaced += step.num_displaced;
  totals_.num_passing += step.num_passing;
  totals_.prefill_allowance = job.prefill_allowance;
  StepOutcome outcome;
  outcome.num_running = std::ssize(queues_.running());
  outcome.num_preempted = job.num_preempted;
  outcome.shape = {step.num_decode_rows, step.num_cached_tokens, step.num_prefill_tokens};
  // What the host did for a step that was launched ahead, it did beside the one before.
  outcome.time =
      job.is_ahead ? job.end - job.begin : step.plan_time + step.model_time + step.sample_time;
  for (const Sequence* seq : queues_.running()) {
    outcome.sum_output += seq->num_output();
    outcome.sum_max_output += seq->max_output;
  }
  planner_.observe(outcome);
  observe_queue(job, outcome.time);
  const bool stalls = step.num_decode_rows == 0 && !job.picks.empty();
  num_stalled_steps_ = stalls ? num_stalled_steps_ + 1 : 0;
  if (parts_.observer != nullptr) {
    parts_.observer->on_step(step);
  }
}

EngineStats EngineCore::stats() const {
  EngineStats stats = totals_;
  stats.num_running = std::ssize(queues_.running());
  stats.num_waiting = queues_.num_waiting();
  stats.block_size = cache_->block_size();
  stats.num_blocks = cache_->pool().num_blocks();
  stats.num_free_blocks = cache_->pool().num_free();
  stats.num_window_blocks = cache_->window_pool().num_blocks();
  stats.num_free_window_blocks = cache_->window_pool().num_free();
  stats.num_cached_window_blocks = cache_->tree().num_window_blocks();
  stats.num_evictable_window_blocks = cache_->tree().num_evictable_window_blocks();
  stats.num_cached_blocks = cache_->tree().num_blocks();
  stats.num_evictable_blocks = cache_->tree().num_evictable_blocks();
  if (tiers_) {
    stats.tiers = tiers_->stats();
  }
  return stats;
}

Status EngineCore::check_invariants() const {
  std::vector<const SeqBlocks*> blocks;
  Status lengths;
  const auto check = [&](const Sequence& seq) {
    blocks.push_back(&seq.blocks);
    const std::int64_t capacity = std::ssize(seq.blocks.table) * cache_->block_size();
    const std::int64_t first =
        first_window_block(seq.num_computed, cache_->window(), cache_->block_size());
    if (seq.next_computed() > capacity || (!seq.is_running && capacity > 0) ||
        (cache_->window() > 0 && seq.blocks.window.begin > first)) {
      lengths = {Code::kInternal, "a sequence holds too few blocks, or waits with blocks"};
    }
  };
  queues_.for_each(check);
  for (const auto* list : {&ended_, &leaving_}) {
    for (const std::unique_ptr<Sequence>& seq : *list) {
      if (seq->num_steps > 0) {
        check(*seq);
      }
    }
  }
  PLUMB_RETURN_IF_ERROR(lengths);
  if (tiers_) {
    PLUMB_RETURN_IF_ERROR(tiers_->check_invariants());
  }
  return cache_->check_invariants(blocks);
}

}  // namespace plumb
