// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_core.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.h"

namespace plumb {
namespace {

void charge_queue(QueueGauge* queue, std::int64_t num_requests, std::int64_t num_tokens) {
  queue->num_requests.fetch_add(num_requests, std::memory_order_relaxed);
  queue->num_tokens.fetch_add(num_tokens, std::memory_order_relaxed);
}

std::optional<Clock::TimePoint> deadline_after(Clock::TimePoint from,
                                               std::optional<std::chrono::milliseconds> own,
                                               std::chrono::milliseconds general) {
  if (general.count() > 0) {
    own = std::min(own.value_or(general), general);
  }
  constexpr std::chrono::milliseconds kFar = std::chrono::hours(24 * 365);
  return own && *own < kFar ? std::optional(from + *own) : std::nullopt;
}

// Forced tokens are not chosen: nothing of the request may be about the choice, and nobody may want
// its probability.
bool is_free_to_jump(const SamplingParams& params) {
  return !params.logprobs && params.bad_words.empty() && params.logit_bias.empty() &&
         params.allowed_token_ids.empty() && params.processors.empty();
}

}  // namespace

EngineCore::~EngineCore() {
  abort_all({Code::kUnavailable, "the engine is stopped"});
  deliver_ended();
}

void EngineCore::add(SeqId id, Request request, std::int64_t max_output, Clock::TimePoint submitted,
                     EventSink& sink) {
  auto seq = std::make_unique<Sequence>();
  seq->id = id;
  seq->sink = &sink;
  seq->tokens = std::move(request.prompt);
  seq->request = std::move(request);
  seq->prompt_len = seq->num_tokens();
  seq->max_output = max_output;
  const SamplingParams& params = seq->request.sampling;
  if (has_penalties(params)) {
    seq->counts.emplace().add_prompt(seq->tokens);
  }
  for (const LogitProcessorSpec& spec : params.processors) {
    Result<std::unique_ptr<LogitProcessor>> made =
        make_logit_processor(spec, request_limits_.vocab_size);
    PLUMB_CHECK(made.ok(), made.status().message());  // the request was checked
    seq->processors.push_back(std::move(made).value());
  }
  if (seq->request.grammar != nullptr) {
    seq->grammar.emplace(seq->request.grammar);
    seq->can_jump = options_.jump_forward && is_free_to_jump(params);
  }
  if (!params.ignore_eos) {
    seq->ends = parts_.end_tokens;
  }
  seq->ends.insert(seq->ends.end(), params.stop_token_ids.begin(), params.stop_token_ids.end());
  seq->timings.submitted = submitted;
  seq->usage.prompt_tokens = seq->prompt_len;
  seq->deadline = deadline_after(submitted, seq->request.timeout, options_.timeout);
  seq->queue_deadline =
      deadline_after(submitted, seq->request.queue_timeout, options_.queue_timeout);
  seq->tenant = queues_.fair().tenant(seq->request.tenant);
  seq->lane = options_.scheduler.tenant_fairness ? seq->tenant : TenantId{};
  if (options_.scheduler.priority_order == PriorityOrder::kLowFirst) {
    seq->request.priority = -seq->request.priority;  // from here on higher is more important
  }
  if (uses_priority(options_.scheduler.schedule_policy)) {
    seq->priority = seq->request.priority;
  }
  seq->tokens_at_arrival = totals_.prefill_tokens + totals_.completion_tokens;
  seq->key = planner_.schedule().key(snapshot_of(*seq));
  ++totals_.num_submitted;
  ++num_unstarted_;
  queues_.add(std::move(seq));
}

void EngineCore::abort(SeqId id, const Status& status) {
  if (Sequence* seq = queues_.find(id); seq != nullptr) {
    seq->end = {FinishReason::kAbort, -1, status};
    finish(*seq);
  }
}

void EngineCore::abort_all(const Status& status) {
  while (!queues_.empty()) {
    abort(queues_.any().id, status);
  }
}

void EngineCore::snapshot_running(bool needs_reclaimable) {
  running_snapshots_.clear();
  for (const Sequence* seq : queues_.running()) {
    SeqSnapshot s = snapshot_of(*seq);
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
bool EngineCore::may_start() const {
  const bool has_row = std::ssize(queues_.running()) < planner_.limits().max_num_seqs;
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

PlannerState EngineCore::snapshot(Clock::TimePoint now) {
  const std::int64_t num_available = cache_->num_takeable();
  const auto num_running = std::ssize(queues_.running());
  if (num_available >= hold_blocks_) {
    hold_blocks_ = 0;
  }
  has_queue_ = queues_.num_waiting() > 0;
  has_free_row_ = num_running < planner_.limits().max_num_seqs;
  const bool on_hold = hold_blocks_ > 0 && num_running > 0;
  const bool looks_at_queue = !on_hold && may_start();
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
  return state;
}

Status EngineCore::step() {
  PLUMB_SCOPE("step", totals_.num_steps);
  const Clock::TimePoint begin = parts_.clock->now();
  step_ = {};
  if (Status ready = advance_tiers(); !ready.ok()) {
    abort_all(ready);
    return ready;
  }
  const PlannerState state = snapshot(begin);
  const Plan& plan = planner_.next(state);
  step_.planner_time = parts_.clock->now() - begin;
  const Status is_valid = validate(plan, state, planner_.limits());
  PLUMB_CHECK(is_valid.ok(), is_valid.message() + ": " + to_text(plan));
  Status done = apply(plan, begin);
  if (done.ok() && !plan.picks.empty()) {
    build_batch(plan);
    step_.plan_time = parts_.clock->now() - begin;
    done = compute(plan);
  }
  if (done.ok() && tiers_) {
    done = tiers_->copy_out(TieredCache::kStepBytes);
  }
  if (!done.ok()) {
    abort_all(done);
    return done;
  }
  waits_for_tiers_ = plan.picks.empty() && num_held_ > 0 && !tiers_->has_work();
  observe(plan);
  return {};
}

Status EngineCore::apply(const Plan& plan, Clock::TimePoint now) {
  for (const Ended& ended : plan.ended) {
    Sequence* seq = queues_.find(ended.seq);
    const bool is_late = ended.code == Code::kDeadlineExceeded;
    const char* phase = seq->was_started ? "after it had been started" : "in the queue";
    abort(ended.seq, {ended.code, is_late ? std::string("the request's time ran out ") + phase
                                          : "the KV cache is too small for this request"});
  }
  for (const SeqId id : plan.preempts) {
    preempt(*queues_.find(id), now);
  }
  for (const SeqId id : plan.admits) {
    start(*queues_.find(id), now);
  }
  const BlockCount freed = cache_->make_free(planner_.limits().demand(plan.num_new_blocks));
  step_.num_evicted_blocks = freed.full;
  totals_.num_evicted_window_blocks += freed.window;
  if (tiers_) {
    PLUMB_RETURN_IF_ERROR(tiers_->on_evicted(step_.num_evicted_blocks));
  }
  for (const Pick& pick : plan.picks) {
    Sequence& seq = *queues_.find(pick.seq);
    seq.num_step_tokens = pick.num_tokens;
    if (std::exchange(seq.starts_now, false)) {
      copy_tail(seq);
    }
    cache_->grow(seq.num_computed + seq.num_step_tokens, &seq.blocks);
  }
  if (std::ssize(plan.preempts) > plan.num_displaced) {
    hold_blocks_ = std::ssize(queues_.running());
  }
  step_.num_displaced = plan.num_displaced;
  step_.num_passing = plan.num_passing;
  if (plan.num_passing > 0) {
    queues_.find(plan.passed)->num_passed += plan.num_passing;
  }
  return {};
}

// Its full blocks stay cached, first to be evicted: when it comes back soon, little is lost.
void EngineCore::preempt(Sequence& seq, Clock::TimePoint now) {
  store(seq, true);
  cache_->release(&seq.blocks);
  seq.num_computed = 0;
  ++seq.timings.num_preemptions;
  seq.note({Phase::Kind::kRetracted, now, {}, 0});
  ++step_.num_preempted;
  queues_.set_waiting(seq);
}

void EngineCore::start(Sequence& seq, Clock::TimePoint now) {
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
  seq.blocks.window.table.reserve(cache_->window() > 0 ? most_blocks : 0);
  if (tiers_) {
    tiers_->on_start(seq);
  }
  ++step_.num_admitted;
  if (!seq.was_started) {
    forget_unstarted(seq);
    seq.was_started = true;
    seq.timings.scheduled = now;
    seq.usage.cached_tokens = seq.num_computed;
    step_.num_started_tokens += seq.prompt_len;
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

void EngineCore::flush_cache() {
  PLUMB_CHECK(!has_work(), "the cache is flushed while sequences use it");
  cache_->flush();
  if (tiers_) {
    tiers_->clear();
  }
  publish_events();
}

void EngineCore::publish_events() {
  if (events_ != nullptr) {
    events_->append(cache_->take_events(), parts_.clock->wall_now());
  }
}

void EngineCore::build_batch(const Plan& plan) {
  batch_.clear();
  rows_.clear();
  for (const Pick& pick : plan.picks) {
    Sequence& seq = *queues_.find(pick.seq);
    const auto tokens = std::span<const TokenId>(seq.tokens)
                            .subspan(static_cast<std::size_t>(seq.num_computed),
                                     static_cast<std::size_t>(seq.num_step_tokens));
    batch_.add_seq(tokens, seq.num_computed, seq.blocks.table, seq.blocks.window.table);
    want_logits(seq);
    account(seq, seq.num_step_tokens);
    if (seq.num_output() > 0 && seq.num_step_tokens == 1) {
      ++step_.num_decode_rows;
      step_.num_cached_tokens += seq.num_tokens();
    } else {
      ++step_.num_prefill_seqs;
      step_.num_prefill_tokens += seq.num_step_tokens;
      const bool is_first_part = seq.num_step_tokens < seq.num_tokens() - seq.num_computed;
      totals_.num_chunked_prompts +=
          is_first_part && seq.num_computed <= seq.usage.cached_tokens ? 1 : 0;
    }
  }
  step_.num_logits_rows = std::ssize(rows_);
}

// What the step costs the tenant: tokens computed for the first time, and twice those produced.
void EngineCore::account(Sequence& seq, std::int64_t num_tokens) {
  const std::int64_t end = seq.num_computed + num_tokens;
  const std::int64_t again =
      std::clamp<std::int64_t>(seq.num_once_computed - seq.num_computed, 0, num_tokens);
  step_.num_recompute_tokens += again;
  seq.num_once_computed = std::max(seq.num_once_computed, end);
  const std::int64_t prefill = std::min(end, seq.prompt_len) - seq.num_computed - again;
  const std::int64_t produced = end == seq.num_tokens() ? 1 : 0;
  queues_.fair().charge(seq.lane, std::max<std::int64_t>(prefill, 0) + 2 * produced);
}

void EngineCore::want_logits(Sequence& seq) {
  const std::int64_t end = seq.num_computed + seq.num_step_tokens;
  if (seq.needs_prompt_logprobs()) {
    const std::int64_t begin = std::max(seq.num_computed, std::ssize(seq.prompt_logprobs) - 1);
    for (std::int64_t p = begin; p < std::min(end, seq.prompt_len - 1); ++p) {
      batch_.want_logits(p - seq.num_computed);
      rows_.push_back({&seq, p + 1, true});
    }
  }
  if (end == seq.num_tokens()) {
    batch_.want_logits(seq.num_step_tokens - 1);
    rows_.push_back({&seq, end, false});
  }
}

Status EngineCore::compute(const Plan& plan) {
  const Clock::TimePoint begin = parts_.clock->now();
  const Workspace::Mark mark(workspace_);
  OpContext op(parts_.ops, workspace_, *stream_);
  const ModelBatch inputs = batch_.upload(*stream_);
  const Tensor logits = parts_.model->forward(op, inputs, cache_->layers());
  PLUMB_RETURN_IF_ERROR(stream_->synchronize());
  PLUMB_RETURN_IF_ERROR(stream_->poll());
  const Clock::TimePoint computed = parts_.clock->now();
  PLUMB_ASSIGN(const std::span<const Result<EmittedToken>> results,
               sampler_.choose(logits, rows_, op));
  PLUMB_RETURN_IF_ERROR(stream_->poll());
  take_rows(results, computed);
  finish_picks(plan, begin, computed);
  step_.model_time = computed - begin;
  if (tiers_ && step_.num_prefill_tokens > 0) {
    tiers_->observe_prefill(step_.num_prefill_tokens + step_.num_decode_rows, step_.model_time);
  }
  step_.sample_time = parts_.clock->now() - computed;
  return {};
}

void EngineCore::finish_picks(const Plan& plan, Clock::TimePoint begin, Clock::TimePoint computed) {
  for (const Pick& pick : plan.picks) {
    Sequence& seq = *queues_.find(pick.seq);
    const bool is_first_output = seq.num_output() == std::ssize(seq.emitted);
    const bool is_prefill = is_first_output || seq.num_step_tokens > 1;
    seq.num_computed += seq.num_step_tokens;
    if (is_prefill) {
      seq.note({Phase::Kind::kPrefill, begin, computed, seq.num_step_tokens});
    }
    if (seq.end.reason != FinishReason::kNone) {
      finish(seq);
      continue;
    }
    if (is_prefill) {
      store(seq, false);
    }
    totals_.num_passed_window_blocks += cache_->pass_window(seq.num_computed, &seq.blocks);
    if (!seq.emitted.empty()) {
      deliver(seq);
    }
  }
}

// Shares the sequence's full blocks with later ones; it goes on using them.
void EngineCore::store(Sequence& seq, bool first_to_evict) {
  cache_->store(
      seq.request.cache_namespace,
      std::span<const TokenId>(seq.tokens).first(static_cast<std::size_t>(seq.num_computed)),
      {.priority = seq.request.priority, .first_to_evict = first_to_evict}, &seq.blocks);
  if (tiers_) {
    tiers_->on_stored(seq);
  }
}

// Gives everything back at once; the last event, after which the sink may be gone, comes later.
void EngineCore::finish(Sequence& seq) {
  const bool was_computed_well =
      seq.end.status.code() != Code::kInternal && seq.end.status.code() != Code::kDeviceLost;
  if (seq.is_running && was_computed_well) {
    store(seq, false);
  }
  cache_->release(&seq.blocks);
  if (tiers_) {
    tiers_->forget(seq);
  }
  if (!seq.was_started) {
    forget_unstarted(seq);
  }
  if (seq.end.reason != FinishReason::kAbort) {
    planner_.observe_end(snapshot_of(seq));
  }
  ++(seq.end.reason == FinishReason::kAbort ? totals_.num_aborted : totals_.num_finished);
  ended_.push_back(queues_.remove(seq));
}

void EngineCore::deliver_ended() {
  for (const std::unique_ptr<Sequence>& seq : ended_) {
    deliver(*seq);
  }
  ended_.clear();
}

void EngineCore::deliver(Sequence& seq) {
  StreamEvent event;
  event.seq = seq.id;
  if (!seq.emitted.empty()) {
    event.tokens = std::exchange(seq.emitted, {});
    event.prompt_logprobs = std::exchange(seq.prompt_logprobs, {});
  }
  event.finish = seq.end.reason;
  if (seq.end.reason != FinishReason::kNone) {
    event.matched_token = seq.end.matched_token;
    event.status = seq.end.status.code();
    event.status_message = seq.end.status.message();
    event.usage = seq.usage;
    event.timings = seq.timings;
    if (parts_.observer != nullptr) {
      parts_.observer->on_end(seq.request, event);
    }
  }
  seq.sink->on_event(std::move(event));
}

void EngineCore::forget_unstarted(const Sequence& seq) {
  --num_unstarted_;
  charge_queue(&queue_, -1, -seq.prompt_len);
}

}  // namespace plumb
