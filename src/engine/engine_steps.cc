// SPDX-License-Identifier: Apache-2.0
// Steps on their way: planned, launched, perhaps ahead of the one before, and taken.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/engine_core.h"

namespace plumb {
namespace {

// A request that comes while a step runs waits for the one launched ahead too. Where steps take
// longer than this, what the host does between them is nothing beside them.
constexpr std::chrono::milliseconds kLongStep{50};

}  // namespace

Status EngineCore::step() {
  if (worker_.num_under_way() == 0) {
    PLUMB_RETURN_IF_ERROR(launch());
  }
  return worker_.num_under_way() > 0 ? take() : Status();
}

Status EngineCore::overlapped_step() {
  if (worker_.num_under_way() == 0) {
    PLUMB_RETURN_IF_ERROR(launch());
    if (!ended_.empty()) {
      return {};  // their sinks hear of it while the step is computed
    }
  } else {
    poll_tiers();
  }
  if (worker_.num_under_way() == 1) {
    PLUMB_RETURN_IF_ERROR(launch_ahead());
  }
  return worker_.num_under_way() > 0 ? take() : Status();
}

StepJob& EngineCore::next_job() {
  StepJob& job = jobs_[static_cast<std::size_t>(next_job_)];
  job.clear();
  return job;
}

Status EngineCore::launch() {
  PLUMB_SCOPE("step", totals_.num_steps);
  const Clock::TimePoint begin = parts_.clock->now();
  StepJob& job = next_job();
  Status done = advance_tiers();
  if (!done.ok()) {
    abort_all(done);
    return done;
  }
  const PlannerState state = snapshot(begin, &job);
  const Plan& plan = planner_.next(state);
  job.stats.planner_time = parts_.clock->now() - begin;
  const Status is_valid = validate(plan, state, planner_.limits());
  PLUMB_CHECK(is_valid.ok(), is_valid.message() + ": " + to_text(plan));
  done = apply(plan, begin, &job);
  if (done.ok() && !plan.picks.empty()) {
    done = stream_->synchronize();  // what was copied for the step is there
    done = done.ok() ? stream_->poll() : done;
  }
  if (done.ok() && !plan.picks.empty()) {
    waits_for_tiers_ = false;
    launch(plan, begin, &job);
    return {};
  }
  if (done.ok() && tiers_) {
    done = tiers_->copy_out(TieredCache::kStepBytes);
  }
  if (!done.ok()) {
    abort_all(done);
    return done;
  }
  waits_for_tiers_ = num_held_ > 0 && !tiers_->has_work();
  observe(job);
  return {};
}

void EngineCore::launch(const Plan& plan, Clock::TimePoint begin, StepJob* job) {
  build_batch(plan, job);
  job->stats.plan_time = parts_.clock->now() - begin;
  next_job_ = (next_job_ + 1) % DeviceWorker::kMostSteps;
  worker_.launch(*job);
}

// Only what an answer's next token needs: no prompt, whose step may be long, and nothing that
// another sequence would have to give way for.
bool EngineCore::may_launch_ahead(const StepJob& under_way) const {
  const std::vector<Sequence*>& running = queues_.running();
  const bool waits_for_tiers = tiers_ && queues_.num_waiting() > 0;
  return under_way.stats.num_prefill_seqs == 0 && !waits_for_tiers &&
         answer_time_.value().value_or(std::chrono::nanoseconds(0)) <= kLongStep &&
         std::none_of(running.begin(), running.end(), [](const Sequence* seq) {
           return seq->goes_on() && seq->needs_last_token();
         });
}

// Whether all that the plan wants is the next token of those that run.
bool EngineCore::only_goes_on(const Plan& plan) {
  return plan.ended.empty() && plan.preempts.empty() && plan.admits.empty() &&
         !plan.picks.empty() &&
         std::all_of(plan.picks.begin(), plan.picks.end(), [this](const Pick& pick) {
           const Sequence& seq = *queues_.find(pick.seq);
           return seq.next_computed() + 1 == seq.next_tokens();
         });
}

Status EngineCore::launch_ahead() {
  const StepJob& under_way =
      jobs_[static_cast<std::size_t>((next_job_ + 1) % DeviceWorker::kMostSteps)];
  if (!may_launch_ahead(under_way)) {
    return {};
  }
  PLUMB_SCOPE("step ahead", totals_.num_steps);
  const Clock::TimePoint begin = parts_.clock->now();
  StepJob& job = next_job();
  const PlannerState state = snapshot(begin, &job);
  const Plan& plan = planner_.next(state);
  job.stats.planner_time = parts_.clock->now() - begin;
  if (!only_goes_on(plan)) {
    return {};  // planned again when the step under way is taken
  }
  const Status is_valid = validate(plan, state, planner_.limits());
  PLUMB_CHECK(is_valid.ok(), is_valid.message() + ": " + to_text(plan));
  if (Status done = apply(plan, begin, &job); !done.ok()) {
    abort_all(done);
    return done;
  }
  job.is_ahead = true;
  launch(plan, begin, &job);
  return {};
}

void EngineCore::build_batch(const Plan& plan, StepJob* job) {
  StepStats& stats = job->stats;
  for (const Pick& pick : plan.picks) {
    Sequence& seq = *queues_.find(pick.seq);
    const std::int64_t begin = seq.next_computed();
    const std::int64_t count = seq.num_step_tokens;
    if (begin < seq.num_tokens()) {
      job->batch.add_seq(
          std::span<const TokenId>(seq.tokens)
              .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
          begin, seq.blocks.table, seq.blocks.window.table);
    } else {
      // The step under way chooses it.
      constexpr TokenId kUnknown = 0;
      job->relayed.push_back({job->batch.num_tokens(), seq.logits_row});
      job->batch.add_seq({&kUnknown, 1}, begin, seq.blocks.table, seq.blocks.window.table);
    }
    const bool is_decode = seq.next_output() > 0 && count == 1;
    if (is_decode) {
      ++stats.num_decode_rows;
      stats.num_cached_tokens += seq.next_tokens();
    } else {
      ++stats.num_prefill_seqs;
      stats.num_prefill_tokens += count;
      const bool is_first_part = count < seq.next_tokens() - begin;
      totals_.num_chunked_prompts +=
          is_first_part && seq.num_computed <= seq.usage.cached_tokens ? 1 : 0;
    }
    account(seq, count, job);
    const bool chooses = want_logits(seq, job);
    job->picks.push_back({&seq, count, chooses});
    ++seq.num_steps;
    seq.num_launched += count;
    seq.num_chosen += chooses ? 1 : 0;
  }
  stats.num_logits_rows = std::ssize(job->rows);
  job->batch.lay_out();
}

// What the step costs the tenant: tokens computed for the first time, and twice those produced.
void EngineCore::account(Sequence& seq, std::int64_t num_tokens, StepJob* job) {
  const std::int64_t begin = seq.next_computed();
  const std::int64_t end = begin + num_tokens;
  const std::int64_t again = std::clamp<std::int64_t>(seq.num_once_computed - begin, 0, num_tokens);
  job->stats.num_recompute_tokens += again;
  seq.num_once_computed = std::max(seq.num_once_computed, end);
  const std::int64_t prefill = std::min(end, seq.prompt_len) - begin - again;
  const std::int64_t produced = end == seq.next_tokens() ? 1 : 0;
  queues_.fair().charge(seq.lane, std::max<std::int64_t>(prefill, 0) + 2 * produced);
}

// Whether the step chooses a token of it.
bool EngineCore::want_logits(Sequence& seq, StepJob* job) {
  const std::int64_t computed = seq.next_computed();
  const std::int64_t end = computed + seq.num_step_tokens;
  const SamplingParams& params = seq.request.sampling;
  if (seq.needs_prompt_logprobs()) {
    const std::int64_t begin = std::max(computed, std::ssize(seq.prompt_logprobs) - 1);
    for (std::int64_t p = begin; p < std::min(end, seq.prompt_len - 1); ++p) {
      LogitsRow row{.sequence = &seq, .context = {}, .is_prompt = true};
      row.context.params = &params;
      row.known = seq.tokens[static_cast<std::size_t>(p + 1)];
      job->batch.want_logits(p - computed);
      job->rows.push_back(row);
    }
  }
  if (end != seq.next_tokens()) {
    return false;
  }
  LogitsRow row{.sequence = &seq, .context = {}};
  row.context.params = &params;
  row.context.position = end;
  if (seq.next_output() < params.min_tokens) {
    row.context.banned = seq.ends;
  }
  if (seq.needs_last_token()) {
    row.context.counts = seq.counts ? &*seq.counts : nullptr;
    row.context.seen = {seq.tokens, seq.prompt_len};
    row.context.processors = seq.processors;
  }
  seq.logits_row = std::ssize(job->rows);
  job->batch.want_logits(seq.num_step_tokens - 1);
  job->rows.push_back(row);
  return true;
}

// Takes the oldest step back from the worker; what it chose is not looked at yet.
StepJob& EngineCore::land() {
  StepJob& job = worker_.take();
  for (const StepPick& pick : job.picks) {
    Sequence& seq = *pick.sequence;
    --seq.num_steps;
    seq.num_launched -= pick.num_tokens;
    seq.num_chosen -= pick.chooses ? 1 : 0;
  }
  return job;
}

Status EngineCore::take() {
  StepJob& job = land();
  const Clock::TimePoint landed = parts_.clock->now();
  Status done = job.status;
  if (done.ok()) {
    take_rows(&job);
    finish_picks(job);
  }
  release_leaving(job);
  if (done.ok()) {
    job.stats.model_time = job.computed - job.begin;
    if (tiers_ && job.stats.num_prefill_tokens > 0) {
      tiers_->observe_prefill(job.stats.num_prefill_tokens + job.stats.num_decode_rows,
                              job.stats.model_time);
    }
    job.stats.sample_time = job.end - job.computed + (parts_.clock->now() - landed);
    done = tiers_ ? tiers_->copy_out(TieredCache::kStepBytes) : Status();
  }
  if (!done.ok()) {
    abort_all(done);
    return done;
  }
  observe(job);
  return {};
}

void EngineCore::finish_picks(const StepJob& job) {
  for (const StepPick& pick : job.picks) {
    Sequence& seq = *pick.sequence;
    if (seq.is_leaving) {
      continue;
    }
    const bool is_first_output = seq.num_output() == std::ssize(seq.emitted);
    const bool is_prefill = is_first_output || pick.num_tokens > 1;
    seq.num_computed += pick.num_tokens;
    if (is_prefill) {
      seq.note({Phase::Kind::kPrefill, job.begin, job.computed, pick.num_tokens});
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

// What sequences hold that ended while steps were under way, of which this was the last.
void EngineCore::release_leaving(const StepJob& job) {
  for (const StepPick& pick : job.picks) {
    if (pick.sequence->is_leaving && pick.sequence->num_steps == 0) {
      give_back(*pick.sequence);
    }
  }
  std::erase_if(leaving_, [](const auto& seq) { return seq->num_steps == 0; });
}

void EngineCore::settle() {
  while (worker_.num_under_way() > 0) {
    release_leaving(land());
  }
}

}  // namespace plumb
