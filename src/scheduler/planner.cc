// SPDX-License-Identifier: Apache-2.0
#include "scheduler/planner.h"

#include <algorithm>

#include "kvcache/block_pool.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxStalledSteps = 8;
// A last chunk may exceed the allowance of a step by this part of it.
constexpr std::int64_t kMergeShare = 16;

}  // namespace

Planner::Planner(const StepLimits& limits, std::unique_ptr<SchedulePolicy> schedule,
                 std::unique_ptr<PreemptPolicy> preempt, std::unique_ptr<AdmissionPolicy> admission)
    : limits_(limits),
      schedule_(std::move(schedule)),
      preempt_(std::move(preempt)),
      admission_(std::move(admission)) {
  const auto rows = static_cast<std::size_t>(limits.max_num_seqs);
  alive_.reserve(rows);
  victims_.reserve(rows);
  ends_.reserve(rows);
  plan_.picks.reserve(rows);
}

const Plan& Planner::next(const PlannerState& state) {
  plan_.clear();
  counts_claims_ = false;
  pool_ = state.pool();
  available_ = certain_ = state.available();
  expire(state);
  if (plan_prefill_alone(state)) {
    return plan_;
  }
  plan_decode();
  budget_ = step_budget(std::ssize(plan_.picks));
  plan_partials(state);
  make_room_for_partials(state);
  if (plan_.preempts.empty()) {
    plan_admissions(state);
  }
  return plan_;
}

void Planner::observe(const StepOutcome& outcome) {
  admission_->observe(outcome);
  step_time_.observe(outcome.shape, outcome.time);
}

// What a step with that many decode rows has for prefill.
Budget Planner::step_budget(std::int64_t num_decode) {
  const std::int64_t full = std::max(limits_.block_size, limits_.max_num_tokens - num_decode);
  Budget budget{.num_tokens = full,
                .num_seqs = 0,
                .num_partials = limits_.max_num_partials,
                .chunk_tokens = std::max(limits_.block_size, limits_.max_num_tokens),
                .merge_tokens = limits_.merge_tokens,
                .block_size = limits_.block_size,
                .num_logits_tokens = limits_.max_logits_tokens};
  if (limits_.mixing == Mixing::kAdaptive && num_decode > 0 && step_time_.knows()) {
    StepShape decode{.num_decode_rows = num_decode};
    for (const SeqSnapshot& seq : alive_) {
      decode.num_cached_tokens += seq.is_decode() ? seq.num_tokens : 0;
    }
    budget.num_tokens =
        prefill_allowance(limits_.step_target, step_time_.predict(decode),
                          step_time_.each_prefill_token(), limits_.block_size, full);
    budget.chunk_tokens = std::min(budget.chunk_tokens, budget.num_tokens);
    budget.merge_tokens = std::min(budget.merge_tokens,
                                   std::max(limits_.block_size, budget.num_tokens / kMergeShare));
  }
  plan_.prefill_allowance = budget.num_tokens;
  return budget;
}

// Prefill first: while there is any, decode rows wait, but not for ever.
bool Planner::plan_prefill_alone(const PlannerState& state) {
  if (limits_.mixing != Mixing::kPrefillFirst || state.num_stalled_steps >= kMaxStalledSteps) {
    return false;
  }
  budget_ = step_budget(0);
  plan_partials(state);
  plan_admissions(state);
  return !plan_.picks.empty();
}

void Planner::expire(const PlannerState& state) {
  for (const SeqDeadline& deadline : state.deadlines) {
    if (deadline.at <= state.now) {
      end(deadline.id, Code::kDeadlineExceeded);
    }
  }
  alive_.clear();
  for (const SeqSnapshot& seq : state.running) {
    if (!has_ended(seq.id)) {
      alive_.push_back(seq);
    }
  }
  recount_if_alone();
}

// All that the last running sequence does not hold is free, or held by nobody once the others left.
void Planner::recount_if_alone() {
  if (alive_.size() <= 1) {
    const BlockCount held = alive_.empty() ? BlockCount() : alive_.front().held();
    available_ = pool_ - held - limits_.demand(plan_.num_new_blocks);
    counts_claims_ = counts_claims_ || !plan_.ended.empty() || !plan_.preempts.empty();
  }
}

void Planner::end(SeqId id, Code code) {
  if (!has_ended(id)) {
    plan_.ended.push_back({id, code});
  }
}

bool Planner::has_ended(SeqId id) const {
  return std::any_of(plan_.ended.begin(), plan_.ended.end(),
                     [id](const Ended& ended) { return ended.seq == id; });
}

std::int64_t Planner::blocks_to_reach(const SeqSnapshot& seq, std::int64_t num_tokens) const {
  return std::max<std::int64_t>(
      num_blocks_for(seq.num_computed + num_tokens, limits_.block_size) - seq.num_blocks, 0);
}

// How many blocks a sequence can be given: every one takes one of each pool.
std::int64_t Planner::num_takeable() const {
  return limits_.window > 0 ? std::min(available_.full, available_.window) : available_.full;
}

void Planner::take(std::int64_t num_blocks) {
  plan_.num_new_blocks += num_blocks;
  available_ -= limits_.demand(num_blocks);
  certain_ -= limits_.demand(num_blocks);
}

void Planner::plan_decode() {
  const auto needed = [this] {
    std::int64_t sum = 0;
    for (const SeqSnapshot& seq : alive_) {
      sum += seq.is_decode() ? blocks_to_reach(seq, 1) : 0;
    }
    return sum;
  };
  while (needed() > num_takeable()) {
    if (!preempt_one()) {
      // Even alone in the whole pool the sequence does not fit.
      end(alive_.front().id, Code::kResourceExhausted);
      alive_.clear();
    }
  }
  for (const SeqSnapshot& seq : alive_) {
    if (seq.is_decode()) {
      plan_.picks.push_back({seq.id, 1});
      take(blocks_to_reach(seq, 1));
    }
  }
}

// Continues unfinished prefills in the policy's order, cut to the blocks that are there.
void Planner::plan_partials(const PlannerState& state) {
  for (const SeqSnapshot& seq : alive_) {
    if (seq.is_decode() || budget_.num_tokens <= 0) {
      continue;
    }
    Budget own = budget_;
    own.num_tokens -= schedule_->hold_back(seq, state.waiting, budget_);
    std::int64_t num_tokens = chunk_tokens(seq, own);
    if (num_tokens == 0) {
      num_tokens = chunk_tokens(seq, budget_);
    }
    const std::int64_t room =
        (seq.num_blocks + num_takeable()) * limits_.block_size - seq.num_computed;
    num_tokens = std::min(num_tokens, room);
    if (num_tokens <= 0) {
      --budget_.num_partials;
      continue;
    }
    plan_.picks.push_back({seq.id, num_tokens});
    take(blocks_to_reach(seq, num_tokens));
    charge(seq, num_tokens, &budget_);
  }
}

// With running sequences every step computes something: where all are unfinished prefills and the
// cache is full, one makes room.
void Planner::make_room_for_partials(const PlannerState& state) {
  while (plan_.picks.empty() && !alive_.empty()) {
    if (!preempt_one()) {
      end(alive_.front().id, Code::kResourceExhausted);
      alive_.clear();
      return;
    }
    plan_partials(state);
  }
}

// Takes a victim out of alive_; false when only one is left.
bool Planner::preempt_one() {
  if (alive_.size() <= 1) {
    return false;
  }
  const auto victim = alive_.begin() + preempt_->victim(alive_);
  plan_.preempts.push_back(victim->id);
  available_ += victim->reclaimable();
  alive_.erase(victim);
  recount_if_alone();
  return true;
}

}  // namespace plumb
