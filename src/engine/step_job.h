// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/engine_stats.h"
#include "engine/sequence.h"
#include "engine/step_batch.h"
#include "sampling/sampler.h"

namespace plumb {

/// What one row of logits is for.
struct LogitsRow {
  Sequence* sequence = nullptr;
  /// Fixed when the step is launched. What of it grows with the output (counts, tokens seen, state
  /// of a grammar) stays as it is until the step is taken: no step is launched ahead of that.
  SampleContext context;
  bool is_prompt = false;  ///< the token is known: only its log probability is wanted
  TokenId known = -1;      ///< that token
};

/// An input that the step before chooses.
struct RelayedToken {
  std::int64_t token = 0;  ///< index among the step's tokens
  std::int64_t row = 0;    ///< of the logits of the step before
};

/// What a step computes of one sequence.
struct StepPick {
  Sequence* sequence = nullptr;
  std::int64_t num_tokens = 0;
  bool chooses = false;  ///< the last of them is followed by a new token
};

/// One step on its way: built on the engine's thread, computed by the device worker, taken by the
/// engine's thread.
///
/// Ownership  the sequences outlive the step.
/// Thread     engine, but between DeviceWorker::launch() and take() it belongs to the worker, as do
///            the state of grammars, token counts and processors of its rows.
struct StepJob {
  StepJob(StepBatch step_batch, const StepSizes& sizes) : batch(std::move(step_batch)) {
    rows.reserve(static_cast<std::size_t>(sizes.num_logits));
    results.reserve(static_cast<std::size_t>(sizes.num_logits));
    relayed.reserve(static_cast<std::size_t>(sizes.num_seqs));
    picks.reserve(static_cast<std::size_t>(sizes.num_seqs));
  }

  /// Makes it empty; keeps memory.
  void clear() {
    batch.clear();
    rows.clear();
    relayed.clear();
    picks.clear();
    stats = {};
    num_preempted = prefill_allowance = 0;
    is_ahead = has_queue = false;
    has_free_row = true;
  }

  // Inputs.
  StepBatch batch;
  std::vector<LogitsRow> rows;
  std::vector<RelayedToken> relayed;

  // Outcome.
  Status status;                              ///< kDeviceLost: nothing else of it counts
  std::vector<Result<EmittedToken>> results;  ///< one a row
  Clock::TimePoint begin;
  Clock::TimePoint computed;
  Clock::TimePoint end;
  MaskTimes mask_times;  ///< of all masks so far

  // What the engine's thread notes for the time when it takes the step.
  std::vector<StepPick> picks;
  StepStats stats;
  std::int64_t num_preempted = 0;      ///< because the cache was short
  std::int64_t prefill_allowance = 0;  ///< tokens that the step's time left to prefill
  bool is_ahead = false;               ///< launched before the step before it was taken
  bool has_queue = false;              ///< somebody waited when the step was planned
  bool has_free_row = true;            ///< when the step was planned
};

}  // namespace plumb
