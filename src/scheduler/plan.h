// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/schedule_policy.h"
#include "scheduler/seq_snapshot.h"

namespace plumb {

/// Sizes that bound every step; fixed when the engine starts.
struct StepLimits {
  std::int64_t max_num_seqs = 64;       ///< running at a time
  std::int64_t max_num_tokens = 2048;   ///< decode rows and prefill tokens of a step
  std::int64_t merge_tokens = 128;      ///< by which a last chunk may exceed that
  std::int64_t max_num_partials = 2;    ///< unfinished prefills after a step
  std::int64_t max_logits_tokens = 32;  ///< prompt tokens with logits in a step
  std::int64_t block_size = 32;

  /// Tokens that no step exceeds: what buffers are sized for.
  std::int64_t max_step_tokens() const;

  /// Rows of logits that no step exceeds.
  std::int64_t max_step_logits() const { return max_num_seqs + max_logits_tokens; }
};

/// What the planner decides from; values and views for one call.
struct PlannerState {
  std::chrono::steady_clock::time_point now;
  std::span<const SeqSnapshot> running = {};    ///< in the policy's order
  std::span<const SeqSnapshot> waiting = {};    ///< the first of the queue, in the policy's order
  std::span<const SeqDeadline> deadlines = {};  ///< the earliest, earliest first
  std::int64_t num_blocks = 0;                  ///< of the pool
  std::int64_t num_free_blocks = 0;
  std::int64_t num_evictable_blocks = 0;
  std::int64_t hold_blocks = 0;  ///< nothing is admitted while fewer are free or evictable
};

/// A sequence that the planner ends, and why.
struct Ended {
  SeqId seq{};
  Code code = Code::kOk;
  bool operator==(const Ended&) const = default;
};

/// One step, decided but not yet done. Applied in the order of the members.
struct Plan {
  std::vector<Ended> ended;
  std::vector<SeqId> preempts;
  std::vector<SeqId> admits;
  std::vector<Pick> picks;          ///< decode rows first; every admitted sequence is among them
  std::int64_t num_new_blocks = 0;  ///< that the picks take; what is not free is evicted

  void clear();
};

/// Whether the plan may be applied to the state: each sequence is known and named once, tokens,
/// sequences and blocks are within their limits. Written independently of the planner.
/// Errors kInternal.
Status validate(const Plan& plan, const PlannerState& state, const StepLimits& limits);

std::string to_text(const Plan& plan);

}  // namespace plumb
