// SPDX-License-Identifier: Apache-2.0
// What a step is planned from, and what its plan changes before it is computed.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "engine/engine_core.h"

namespace plumb {

// As they will be when the steps under way are taken, without those that will have ended.
void EngineCore::snapshot_running(bool needs_reclaimable) {
  running_snapshots_.clear();
  for (const Sequence* seq : queues_.running()) {
    if (!seq->goes_on()) {
      continue;
    }
    SeqSnapshot s = snapshot_of(*seq);
    s.num_tokens = seq->next_tokens();
    s.num_computed = seq->next_computed();
    s.num_output = seq->next_output();
    if (needs_reclaimable) {
      const BlockCount reclaimable = cache_->num_reclaimable(seq->blocks);
      s.num_reclaimable_blocks = reclaimable.full;
      s.num_reclaimable_window_blocks = reclaimable.window;
      s.num_recompute_tokens =
          cache_->has_prefix_cache() ? seq->num_computed % cache_->block_size() : seq->num_computed;
    }
    running_snapshots_.push_back(s);
  }
}

// Whether a waiting sequence may begin in this step, if the cache has room: in a free row, or in
// the row of one that is less important.
bool EngineCore::may_start(std::int64_t num_running) const {
  const bool has_row = num_running < planner_.limits().max_num_seqs;
  if (queues_.num_waiting() == 0 || has_row || planner_.limits().displace_threshold < 0) {
    return queues_.num_waiting() > 0 && has_row;
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Sequence* seq : queues_.running()) {
    least = std::min(least, seq->priority);
  }
  bool displaces = false;
  queues_.for_each_first([&](const Sequence& seq) {
    displaces = displaces || seq.priority - least > planner_.limits().displace_threshold;
  });
  return displaces;
}

PlannerState EngineCore::snapshot(Clock::TimePoint now, StepJob* job) {
  const std::int64_t num_available = cache_->num_takeable();
  const std::vector<Sequence*>& all = queues_.running();
  const std::int64_t num_running =
      std::count_if(all.begin(), all.end(), [](const Sequence* seq) { return seq->goes_on(); });
  if (num_available >= hold_blocks_) {
    hold_blocks_ = 0;
  }
  job->has_queue = queues_.num_waiting() > 0;
  job->has_free_row = num_running < planner_.limits().max_num_seqs;
  const bool on_hold = hold_blocks_ > 0 && num_running > 0;
  const bool looks_at_queue = !on_hold && may_start(num_running);
  // A step needs preemption only when not even a block for each sequence is there.
  snapshot_running(looks_at_queue || num_available <= num_running);
  queues_.passed_deadlines(now, &passed_);
  PlannerState state;
  state.now = now;
  state.running = running_snapshots_;
  if (looks_at_queue) {
    state.waiting = window_.look(running_snapshots_,
                                 totals_.prefill_tokens + totals_.completion_tokens, is_held_);
  }
  state.deadlines = passed_;
  state.num_blocks = cache_->pool().num_blocks();
  state.num_free_blocks = cache_->num_free().full;
  state.num_evictable_blocks = cache_->num_evictable().full;
  state.num_window_blocks = cache_->window_pool().num_blocks();
  state.num_free_window_blocks = cache_->num_free().window;
  state.num_evictable_window_blocks = cache_->num_evictable().window;
  state.hold_blocks = hold_blocks_;
  state.num_stalled_steps = num_stalled_steps_;
  if (worker_.num_under_way() > 0 && num_running == 1) {
    // The planner gives the last sequence all that it does not hold; those that end hold some.
    const BlockCount pool = cache_->num_available() + running_snapshots_.front().held();
    state.num_blocks = pool.full;
    state.num_window_blocks = pool.window;
  }
  return state;
}

Status EngineCore::apply(const Plan& plan, Clock::TimePoint now, StepJob* job) {
  for (const Ended& ended : plan.ended) {
    Sequence* seq = queues_.find(ended.seq);
    const bool is_late = ended.code == Code::kDeadlineExceeded;
    const char* phase = seq->was_started ? "after it had been started" : "in the queue";
    abort(ended.seq, {ended.code, is_late ? std::string("the request's time ran out ") + phase
                                          : "the KV cache is too small for this request"});
  }
  for (const SeqId id : plan.preempts) {
    preempt(*queues_.find(id), now, &job->stats);
  }
  for (const SeqId id : plan.admits) {
    start(*queues_.find(id), now, &job->stats);
  }
  const BlockCount freed = cache_->make_free(planner_.limits().demand(plan.num_new_blocks));
  job->stats.num_evicted_blocks = freed.full;
  totals_.num_evicted_window_blocks += freed.window;
  if (tiers_) {
    PLUMB_RETURN_IF_ERROR(tiers_->on_evicted(job->stats.num_evicted_blocks));
  }
  for (const Pick& pick : plan.picks) {
    Sequence& seq = *queues_.find(pick.seq);
    seq.num_step_tokens = pick.num_tokens;
    if (std::exchange(seq.starts_now, false)) {
      copy_tail(seq);
    }
    cache_->grow(seq.next_computed() + seq.num_step_tokens, &seq.blocks);
  }
  job->num_preempted = std::ssize(plan.preempts) - plan.num_displaced;
  job->prefill_allowance = plan.prefill_allowance;
  if (job->num_preempted > 0) {
    hold_blocks_ = std::ssize(queues_.running());
  }
  job->stats.num_displaced = plan.num_displaced;
  job->stats.num_passing = plan.num_passing;
  if (plan.num_passing > 0) {
    queues_.find(plan.passed)->num_passed += plan.num_passing;
  }
  return {};
}

// Its full blocks stay cached, first to be evicted: when it comes back soon, little is lost.
void EngineCore::preempt(Sequence& seq, Clock::TimePoint now, StepStats* stats) {
  store(seq, true);
  cache_->release(&seq.blocks);
  seq.num_computed = 0;
  ++seq.timings.num_preemptions;
  seq.note({Phase::Kind::kRetracted, now, {}, 0});
  ++stats->num_preempted;
  queues_.set_waiting(seq);
}

void EngineCore::retract_all() {
  StepStats stats;
  const std::vector<Sequence*> running(queues_.running().begin(), queues_.running().end());
  for (Sequence* seq : running) {
    preempt(*seq, parts_.clock->now(), &stats);
  }
  totals_.num_preemptions += stats.num_preempted;
}

void EngineCore::start(Sequence& seq, Clock::TimePoint now, StepStats* stats) {
  const auto planned =
      std::span<const TokenId>(seq.tokens).first(static_cast<std::size_t>(seq.peek.num_tokens));
  seq.num_computed =
      cache_->attach(seq.request.cache_namespace, planned, !seq.was_started, &seq.blocks);
  seq.starts_now = true;
  seq.end_retraction(now);
  PLUMB_CHECK(seq.num_computed == seq.peek.num_tokens, "a planned prefix is not cached any more");
  const auto most_tokens = static_cast<std::size_t>(seq.prompt_len + seq.max_output);
  seq.tokens.reserve(most_tokens);  // so that decoding allocates nothing
  const auto most_blocks = static_cast<std::size_t>(
      num_blocks_for(seq.prompt_len + seq.max_output, cache_->block_size()));
  seq.blocks.table.reserve(most_blocks);
  seq.blocks.owned.reserve(most_blocks);
  if (cache_->window() > 0) {
    seq.blocks.window.table.reserve(most_blocks);
    seq.blocks.window.owned.reserve(most_blocks);
  }
  if (tiers_) {
    tiers_->on_start(seq);
  }
  ++stats->num_admitted;
  if (!seq.was_started) {
    forget_unstarted(seq);
    seq.was_started = true;
    seq.timings.scheduled = now;
    seq.usage.cached_tokens = seq.num_computed;
    stats->num_started_tokens += seq.prompt_len;
    stats->num_started_cached_tokens += seq.num_computed;
    totals_.prompt_tokens += seq.prompt_len;
    totals_.cached_tokens += seq.num_computed;
    ++totals_.num_prefix_queries;
    totals_.num_prefix_hits += seq.num_computed > 0 ? 1 : 0;
    totals_.num_cut_prefixes += seq.peek.is_cut ? 1 : 0;
    if (seq.request.sampling.prompt_logprobs) {
      seq.prompt_logprobs.push_back({seq.tokens.front(), 0.0F, {}});
    }
  }
  queues_.set_running(seq);
}

// Where the prefix of a new sequence ends within a block that the tree or a running sequence has,
// copying the common beginning saves computing it. The chunk that was planned keeps its end, so it
// takes no block more.
void EngineCore::copy_tail(Sequence& seq) {
  const std::span<const TokenId> reusable = seq.reusable();
  const std::int64_t begin = seq.num_computed;
  const std::int64_t most =
      std::min({std::ssize(reusable) - begin, seq.num_step_tokens - 1, cache_->block_size() - 1});
  if (most <= 0 || !cache_->has_prefix_cache()) {
    return;
  }
  const PrefixTail tail = find_tail(
      seq, reusable.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(most)));
  if (tail.num_tokens == 0) {
    return;
  }
  cache_->grow(begin + 1, &seq.blocks);
  cache_->copy_block({tail.block, tail.window_block}, cache_->last_block(seq.blocks),
                     *parts_.backend, *stream_);
  seq.num_computed += tail.num_tokens;
  seq.num_step_tokens -= tail.num_tokens;
  ++totals_.num_tail_copies;
  if (seq.timings.num_preemptions == 0) {
    totals_.num_prefix_hits += seq.usage.cached_tokens == 0 ? 1 : 0;
    seq.usage.cached_tokens += tail.num_tokens;
    totals_.cached_tokens += tail.num_tokens;
  }
}

// The longest of the tree's and the running sequences' blocks that stand where `seq` is to go on.
// These last ones matter to the choices of one request, whose prompt ends within a block.
PrefixTail EngineCore::find_tail(const Sequence& seq, std::span<const TokenId> next) const {
  PrefixTail best = cache_->find_tail(seq.request.cache_namespace, seq.blocks, next);
  const std::vector<BlockId>& own = seq.blocks.table;
  for (const Sequence* other : queues_.running()) {
    const std::vector<BlockId>& theirs = other->blocks.table;
    const std::int64_t count = std::min(other->num_computed - seq.num_computed, std::ssize(next));
    const WindowBlocks& parts = other->blocks.window;
    if (count <= best.num_tokens || theirs.size() <= own.size() || parts.begin > std::ssize(own)) {
      continue;
    }
    // One block of the tree stands for one prefix in one namespace.
    const bool has_same_prefix = own.empty()
                                     ? other->request.cache_namespace == seq.request.cache_namespace
                                     : theirs[own.size() - 1] == own.back();
    if (has_same_prefix) {
      const auto end = std::mismatch(next.begin(), next.begin() + count,
                                     other->tokens.begin() + seq.num_computed);
      if (end.first - next.begin() > best.num_tokens) {
        best = {theirs[own.size()], parts.table.empty() ? BlockId{} : parts.table[own.size()],
                end.first - next.begin()};
      }
    }
  }
  return best;
}

}  // namespace plumb
