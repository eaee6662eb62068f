// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/schedule_policy.h"
#include "scheduler/seq_snapshot.h"

namespace plumb {

/// How prefill chunks share steps with decode rows.
enum class Mixing : unsigned char {
  kAdaptive,      ///< as many prefill tokens beside decode rows as keep the step's time
  kDecodeFirst,   ///< decode rows in every step, prefill takes the rest of its tokens
  kPrefillFirst,  ///< decode rows wait while there is prefill, a few steps at most
};

/// Sizes that bound every step, and the rules of sharing it; fixed when the engine starts.
struct StepLimits {
  std::int64_t max_num_seqs = 64;       ///< running at a time
  std::int64_t max_num_tokens = 2048;   ///< decode rows and prefill tokens of a step
  std::int64_t merge_tokens = 128;      ///< by which a last chunk may exceed that
  std::int64_t max_num_partials = 2;    ///< unfinished prefills after a step
  std::int64_t max_logits_tokens = 32;  ///< prompt tokens with logits in a step
  std::int64_t block_size = 32;
  std::int64_t window = 0;  ///< tokens that the layers with a window see; 0 = there are none
  Mixing mixing = Mixing::kDecodeFirst;
  std::chrono::nanoseconds step_target{};  ///< of adaptive mixing
  /// A waiting sequence displaces running ones that are less important by more than this; < 0:
  /// none.
  std::int64_t displace_threshold = -1;
  std::int64_t skip_ahead = 0;        ///< later ones tried past a first that finds no room
  bool simulates_completion = false;  ///< else room is judged by the sum of all reserves
  std::int64_t completion_spare = 1;  ///< tokens that each sequence may leave unused in its blocks

  /// Tokens that no step exceeds: what buffers are sized for.
  std::int64_t max_step_tokens() const;

  /// What num_blocks more blocks of a sequence take of both pools.
  BlockCount demand(std::int64_t num_blocks) const {
    return {num_blocks, window > 0 ? num_blocks : 0};
  }

  /// Window blocks that a decoding sequence of that many tokens holds at most.
  std::int64_t window_blocks(std::int64_t num_tokens) const {
    return most_window_blocks(num_tokens, window, block_size);
  }

  /// What a cached prefix of that many tokens takes of both pools.
  BlockCount cached_blocks(std::int64_t num_tokens) const;

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
  std::int64_t num_window_blocks = 0;  ///< of the pool of the layers with a window
  std::int64_t num_free_window_blocks = 0;
  std::int64_t num_evictable_window_blocks = 0;
  std::int64_t hold_blocks = 0;        ///< nothing is admitted while fewer are free or evictable
  std::int64_t num_stalled_steps = 0;  ///< the last steps, as many as had no decode row

  BlockCount pool() const { return {num_blocks, num_window_blocks}; }

  BlockCount available() const {
    return BlockCount{num_free_blocks, num_free_window_blocks} +
           BlockCount{num_evictable_blocks, num_evictable_window_blocks};
  }
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
  std::int64_t num_displaced = 0;  ///< of the preempts the last: they made room for admits
  std::vector<SeqId> admits;
  std::vector<Pick> picks;  ///< decode rows first; every admitted sequence is among them
  /// That the picks take, of each kind; what is not free is evicted.
  std::int64_t num_new_blocks = 0;
  SeqId passed{};                      ///< waiting: had no room while later ones began
  std::int64_t num_passing = 0;        ///< how many did
  std::int64_t prefill_allowance = 0;  ///< tokens that the step's time left to prefill

  void clear();
};

/// Whether the plan may be applied to the state: each sequence is known and named once, tokens,
/// sequences and blocks are within their limits. Written independently of the planner.
/// Errors kInternal.
Status validate(const Plan& plan, const PlannerState& state, const StepLimits& limits);

std::string to_text(const Plan& plan);

}  // namespace plumb
