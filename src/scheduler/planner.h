// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "scheduler/admission_policy.h"
#include "scheduler/completion_forecast.h"
#include "scheduler/plan.h"
#include "scheduler/preempt_policy.h"
#include "scheduler/schedule_policy.h"
#include "scheduler/step_time.h"

namespace plumb {

/// Decides one step at a time: which sequences end, give their blocks back, start, and compute how
/// many tokens. It sees values only and changes nothing.
///
/// Decode rows and prefill chunks share the step as its mixing says; with decode rows in it, at
/// least a block is left to prefill. When the cache is short, first what nobody uses is to be
/// evicted, then running sequences are preempted, never the last one.
/// Thread  engine.
/// Cost    linear in the running sequences; allocates nothing while no sequence starts or leaves.
class Planner {
 public:
  Planner(const StepLimits& limits, std::unique_ptr<SchedulePolicy> schedule,
          std::unique_ptr<PreemptPolicy> preempt, std::unique_ptr<AdmissionPolicy> admission);

  /// The plan is valid until the next call.
  const Plan& next(const PlannerState& state);

  void observe(const StepOutcome& outcome);

  void observe_end(const SeqSnapshot& seq) { admission_->observe_end(seq); }

  const SchedulePolicy& schedule() const { return *schedule_; }

  const StepTimeModel& step_time() const { return step_time_; }

  /// Tokens that a waiting sequence is expected to produce.
  std::int64_t expected_output(const SeqSnapshot& seq) const {
    return admission_->reserve_new(seq);
  }

  /// Tokens that a sequence will probably still produce, at least 1.
  std::int64_t expected_left(const SeqSnapshot& seq) const {
    return admission_->expected_left(seq);
  }

  /// Whether, with all rows taken, the waiting sequence may displace a running one.
  bool may_displace(const SeqSnapshot& waiting, std::span<const SeqSnapshot> running) const;

  const StepLimits& limits() const { return limits_; }

 private:
  void expire(const PlannerState& state);
  Budget step_budget(std::int64_t num_decode);
  bool plan_prefill_alone(const PlannerState& state);
  void plan_decode();
  void plan_partials(const PlannerState& state);
  void make_room_for_partials(const PlannerState& state);
  bool preempt_one();
  void recount_if_alone();
  void end(SeqId id, Code code);
  bool has_ended(SeqId id) const;
  std::int64_t blocks_to_reach(const SeqSnapshot& seq, std::int64_t num_tokens) const;
  std::int64_t num_takeable() const;
  void take(std::int64_t num_blocks);

  // Admission (planner_admission.cc).
  void plan_admissions(const PlannerState& state);
  bool collect_admissible(const PlannerState& state);
  void forecast_running();
  BlockCount claimed_blocks(const SeqSnapshot& waiting) const;
  BlockCount begin_blocks(const SeqSnapshot& waiting) const;
  std::int64_t known_blocks(const SeqSnapshot& waiting) const;
  BlockCount wanted_blocks(const SeqSnapshot& waiting) const;
  std::int64_t window_reserve(const SeqSnapshot& running, std::int64_t to_come) const;
  std::int64_t chunk_window_blocks() const;
  void limit_chunks(std::int64_t num_window_blocks);
  std::int64_t window_blocks_left() const;
  bool has_window_room(const SeqSnapshot& waiting) const;
  bool has_room(const SeqSnapshot& waiting);
  void take_room(const SeqSnapshot& waiting);
  void skip_ahead(std::span<const SeqSnapshot> later, const SeqSnapshot& first);
  bool displace_for(const SeqSnapshot& waiting);
  bool would_be_picked(const SeqSnapshot& waiting);
  void displace(const SeqSnapshot& victim);

  StepLimits limits_;
  std::unique_ptr<SchedulePolicy> schedule_;
  std::unique_ptr<PreemptPolicy> preempt_;
  std::unique_ptr<AdmissionPolicy> admission_;
  StepTimeModel step_time_;

  // Scratch of one call of next().
  Plan plan_;
  std::vector<SeqSnapshot> alive_;       // running, neither ended nor preempted
  std::vector<SeqSnapshot> admissible_;  // waiting, and there is room
  std::vector<SeqSnapshot> victims_;
  BlockCount pool_;
  BlockCount available_;           // free or evictable, not yet given to a pick
  BlockCount certain_;             // the same without blocks of sequences that leave
  bool counts_claims_ = false;     // available_ counts those
  BlockCount room_;                // beyond what running and admissible ones are to take
  std::int64_t num_skipping_ = 0;  // of the admissible, the last: they pass the first in line
  CompletionForecast forecast_;
  std::vector<ExpectedEnd> ends_;
  Budget budget_;
};

}  // namespace plumb
