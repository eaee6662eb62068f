// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "scheduler/admission_policy.h"
#include "scheduler/plan.h"
#include "scheduler/preempt_policy.h"
#include "scheduler/schedule_policy.h"

namespace plumb {

/// Decides one step at a time: which sequences end, give their blocks back, start, and compute how
/// many tokens. It sees values only and changes nothing.
///
/// All decode rows come first; prefill chunks take the rest of one token budget, at least a block.
/// When the cache is short, first what nobody uses is to be evicted, then running sequences are
/// preempted, never the last one.
/// Thread  engine.
/// Cost    linear in the running sequences; allocates nothing while no sequence starts or leaves.
class Planner {
 public:
  Planner(const StepLimits& limits, std::unique_ptr<SchedulePolicy> schedule,
          std::unique_ptr<PreemptPolicy> preempt, std::unique_ptr<AdmissionPolicy> admission);

  /// The plan is valid until the next call.
  const Plan& next(const PlannerState& state);

  void observe(const StepOutcome& outcome) { admission_->observe(outcome); }

  QueueKey key(const SeqSnapshot& seq) const { return schedule_->key(seq); }

  const StepLimits& limits() const { return limits_; }

 private:
  void expire(const PlannerState& state);
  void plan_decode();
  void plan_partials();
  void make_room_for_partials();
  void plan_admissions(const PlannerState& state);
  bool preempt_one();
  void recount_if_alone();
  void end(SeqId id, Code code);
  std::int64_t blocks_to_reach(const SeqSnapshot& seq, std::int64_t num_tokens) const;
  std::int64_t reserved_blocks() const;
  bool collect_admissible(const PlannerState& state);

  StepLimits limits_;
  std::unique_ptr<SchedulePolicy> schedule_;
  std::unique_ptr<PreemptPolicy> preempt_;
  std::unique_ptr<AdmissionPolicy> admission_;

  // Scratch of one call of next().
  Plan plan_;
  std::vector<SeqSnapshot> alive_;       // running, neither ended nor preempted
  std::vector<SeqSnapshot> admissible_;  // waiting, and there is room
  std::int64_t num_pool_blocks_ = 0;
  std::int64_t num_available_ = 0;  // free or evictable, not yet given to a pick
  Budget budget_;
};

}  // namespace plumb
