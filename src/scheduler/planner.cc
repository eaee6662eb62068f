// SPDX-License-Identifier: Apache-2.0
#include "scheduler/planner.h"

#include <algorithm>

#include "kvcache/block_pool.h"

namespace plumb {
Planner::Planner(const StepLimits& limits, std::unique_ptr<SchedulePolicy> schedule,
                 std::unique_ptr<PreemptPolicy> preempt, std::unique_ptr<AdmissionPolicy> admission)
    : limits_(limits),
      schedule_(std::move(schedule)),
      preempt_(std::move(preempt)),
      admission_(std::move(admission)) {
  const auto rows = static_cast<std::size_t>(limits.max_num_seqs);
  alive_.reserve(rows);
  plan_.picks.reserve(rows);
}

const Plan& Planner::next(const PlannerState& state) {
  plan_.clear();
  num_pool_blocks_ = state.num_blocks;
  num_available_ = state.num_free_blocks + state.num_evictable_blocks;
  expire(state);
  plan_decode();
  const std::int64_t num_decode = std::ssize(plan_.picks);
  budget_ = {.num_tokens = std::max(limits_.block_size, limits_.max_num_tokens - num_decode),
             .num_seqs = 0,
             .num_partials = limits_.max_num_partials,
             .chunk_tokens = std::max(limits_.block_size, limits_.max_num_tokens),
             .merge_tokens = limits_.merge_tokens,
             .block_size = limits_.block_size,
             .num_logits_tokens = limits_.max_logits_tokens};
  plan_partials();
  make_room_for_partials();
  if (plan_.preempts.empty()) {
    plan_admissions(state);
  }
  return plan_;
}

void Planner::expire(const PlannerState& state) {
  for (const SeqDeadline& deadline : state.deadlines) {
    if (deadline.at <= state.now) {
      end(deadline.id, Code::kDeadlineExceeded);
    }
  }
  alive_.clear();
  for (const SeqSnapshot& seq : state.running) {
    const auto is_this = [&seq](const Ended& ended) { return ended.seq == seq.id; };
    if (plan_.ended.empty() || std::none_of(plan_.ended.begin(), plan_.ended.end(), is_this)) {
      alive_.push_back(seq);
    }
  }
  recount_if_alone();
}

// All that the last running sequence does not hold is free, or held by nobody once the others left.
void Planner::recount_if_alone() {
  if (alive_.size() <= 1) {
    const std::int64_t held = alive_.empty() ? 0 : alive_.front().num_blocks;
    num_available_ = num_pool_blocks_ - held - plan_.num_new_blocks;
  }
}

void Planner::end(SeqId id, Code code) {
  const auto is_this = [id](const Ended& ended) { return ended.seq == id; };
  if (std::none_of(plan_.ended.begin(), plan_.ended.end(), is_this)) {
    plan_.ended.push_back({id, code});
  }
}

std::int64_t Planner::blocks_to_reach(const SeqSnapshot& seq, std::int64_t num_tokens) const {
  return std::max<std::int64_t>(
      num_blocks_for(seq.num_computed + num_tokens, limits_.block_size) - seq.num_blocks, 0);
}

void Planner::plan_decode() {
  const auto needed = [this] {
    std::int64_t sum = 0;
    for (const SeqSnapshot& seq : alive_) {
      sum += seq.is_decode() ? blocks_to_reach(seq, 1) : 0;
    }
    return sum;
  };
  while (needed() > num_available_) {
    if (!preempt_one()) {
      // Even alone in the whole pool the sequence does not fit.
      end(alive_.front().id, Code::kResourceExhausted);
      alive_.clear();
    }
  }
  for (const SeqSnapshot& seq : alive_) {
    if (seq.is_decode()) {
      const std::int64_t blocks = blocks_to_reach(seq, 1);
      plan_.picks.push_back({seq.id, 1});
      plan_.num_new_blocks += blocks;
      num_available_ -= blocks;
    }
  }
}

// Continues unfinished prefills in the policy's order, cut to the blocks that are there.
void Planner::plan_partials() {
  for (const SeqSnapshot& seq : alive_) {
    if (seq.is_decode() || budget_.num_tokens <= 0) {
      continue;
    }
    std::int64_t num_tokens = chunk_tokens(seq, budget_);
    const std::int64_t room =
        (seq.num_blocks + num_available_) * limits_.block_size - seq.num_computed;
    num_tokens = std::min(num_tokens, room);
    if (num_tokens <= 0) {
      --budget_.num_partials;
      continue;
    }
    const std::int64_t blocks = blocks_to_reach(seq, num_tokens);
    plan_.picks.push_back({seq.id, num_tokens});
    plan_.num_new_blocks += blocks;
    num_available_ -= blocks;
    charge(seq, num_tokens, &budget_);
  }
}

// With running sequences every step computes something: where all are unfinished prefills and the
// cache is full, one makes room.
void Planner::make_room_for_partials() {
  while (plan_.picks.empty() && !alive_.empty()) {
    if (!preempt_one()) {
      end(alive_.front().id, Code::kResourceExhausted);
      alive_.clear();
      return;
    }
    plan_partials();
  }
}

// Takes a victim out of alive_; false when only one is left.
bool Planner::preempt_one() {
  if (alive_.size() <= 1) {
    return false;
  }
  const auto victim = alive_.begin() + preempt_->victim(alive_);
  plan_.preempts.push_back(victim->id);
  num_available_ += victim->num_reclaimable_blocks;
  alive_.erase(victim);
  recount_if_alone();
  return true;
}

// Blocks that the running sequences are expected to take beyond this step.
std::int64_t Planner::reserved_blocks() const {
  std::int64_t num_blocks = 0;
  std::int64_t num_tokens = 0;
  for (const SeqSnapshot& seq : alive_) {
    num_blocks += blocks_to_reach(seq, seq.num_uncached());
    num_tokens += admission_->reserve_running(seq);
  }
  return std::max<std::int64_t>(num_blocks - plan_.num_new_blocks, 0) +
         num_blocks_for(num_tokens, limits_.block_size);
}

// Fills admissible_; false if the first sequence cannot run even in an empty engine.
bool Planner::collect_admissible(const PlannerState& state) {
  admissible_.clear();
  std::int64_t room = num_available_ - reserved_blocks();
  for (const SeqSnapshot& seq : state.waiting) {
    const auto is_this = [&seq](const Ended& ended) { return ended.seq == seq.id; };
    if (std::any_of(plan_.ended.begin(), plan_.ended.end(), is_this) ||
        waits_for_twin(seq, limits_.block_size)) {
      continue;
    }
    const std::int64_t known = num_blocks_for(seq.num_tokens, limits_.block_size) -
                               seq.num_computed / limits_.block_size + seq.num_pinned_blocks;
    const std::int64_t wanted =
        known + num_blocks_for(admission_->reserve_new(seq), limits_.block_size) + 1;
    const bool is_first = alive_.empty() && admissible_.empty();
    if (is_first && known > num_available_) {
      end(seq.id, Code::kResourceExhausted);
      return false;
    }
    if (!is_first && wanted > room) {
      break;  // later ones may not take what this one waits for
    }
    admissible_.push_back(seq);
    room -= wanted;
  }
  return true;
}

void Planner::plan_admissions(const PlannerState& state) {
  const bool on_hold = !alive_.empty() && num_available_ < state.hold_blocks;
  budget_.num_seqs = limits_.max_num_seqs - std::ssize(alive_);
  if (state.waiting.empty() || on_hold || budget_.num_seqs <= 0 || budget_.num_tokens <= 0) {
    return;
  }
  while (!collect_admissible(state)) {
  }
  for (const Pick& pick : schedule_->pick(admissible_, budget_)) {
    const auto seq = std::find_if(admissible_.begin(), admissible_.end(),
                                  [&pick](const SeqSnapshot& s) { return s.id == pick.seq; });
    PLUMB_CHECK(seq != admissible_.end(), "a policy picks a sequence that it was not shown");
    const std::int64_t blocks =
        num_blocks_for(seq->num_computed + pick.num_tokens, limits_.block_size) -
        seq->num_computed / limits_.block_size;
    plan_.admits.push_back(pick.seq);
    plan_.picks.push_back(pick);
    plan_.num_new_blocks += blocks;
    num_available_ -= blocks + seq->num_pinned_blocks;
  }
}

}  // namespace plumb
