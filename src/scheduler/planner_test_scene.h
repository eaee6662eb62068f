// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "scheduler/planner.h"
#include "support/fake_clock.h"

namespace plumb {

/// Keeps room for a fixed number of tokens.
class FixedReserve final : public AdmissionPolicy {
 public:
  explicit FixedReserve(std::int64_t num_tokens) : num_tokens_(num_tokens) {}

  std::int64_t reserve_running(const SeqSnapshot&) const override { return num_tokens_; }

  std::int64_t reserve_new(const SeqSnapshot&) const override { return num_tokens_; }

  void observe(const StepOutcome&) override {}

 private:
  std::int64_t num_tokens_;
};

/// A planner with a state that the test fills.
struct PlannerScene {
  explicit PlannerScene(const StepLimits& step_limits, std::int64_t num_blocks = 100)
      : limits(step_limits) {
    state.num_blocks = num_blocks;
    state.num_free_blocks = num_blocks;
  }

  /// A new planner's plan.
  const Plan& plan(std::int64_t reserve = 0) {
    make_planner(reserve);
    return replan();
  }

  void make_planner(std::int64_t reserve = 0) {
    planner = std::make_unique<Planner>(limits, make_schedule_policy(order), make_least_recompute(),
                                        std::make_unique<FixedReserve>(reserve));
  }

  /// The present planner's plan.
  const Plan& replan() {
    state.running = running;
    state.waiting = waiting;
    state.deadlines = deadlines;
    const Plan& result = planner->next(state);
    EXPECT_EQ(validate(result, state, limits).message(), "") << to_text(result);
    return result;
  }

  SeqSnapshot& wait(std::uint64_t id, std::int64_t num_tokens, std::int64_t num_cached = 0) {
    waiting.push_back(
        {.id = SeqId{id}, .num_tokens = num_tokens, .num_computed = num_cached, .max_output = 10});
    return waiting.back();
  }

  /// Takes its blocks out of the free ones.
  SeqSnapshot& run(std::uint64_t id, std::int64_t num_tokens, std::int64_t num_computed) {
    const std::int64_t blocks = (num_computed + limits.block_size - 1) / limits.block_size;
    running.push_back({.id = SeqId{id},
                       .num_tokens = num_tokens,
                       .num_computed = num_computed,
                       .num_output = 1,
                       .max_output = 10,
                       .num_blocks = blocks,
                       .num_reclaimable_blocks = blocks});
    state.num_free_blocks -= blocks;
    return running.back();
  }

  /// Steps of 16 tokens in blocks of 4.
  static constexpr StepLimits kSmall{.max_num_seqs = 4,
                                     .max_num_tokens = 16,
                                     .merge_tokens = 0,
                                     .max_num_partials = 2,
                                     .max_logits_tokens = 8,
                                     .block_size = 4};

  ScheduleOrder order = ScheduleOrder::kFcfs;
  StepLimits limits;
  FakeClock clock;
  PlannerState state;
  std::vector<SeqSnapshot> running;
  std::vector<SeqSnapshot> waiting;
  std::vector<SeqDeadline> deadlines;
  std::unique_ptr<Planner> planner;
};

}  // namespace plumb
