// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace plumb {

/// What the plan is made from. Units: bytes, tokens.
struct MemoryNeeds {
  std::optional<std::int64_t> free_bytes;  ///< before anything of the engine is allocated
  std::int64_t weight_bytes = 0;           ///< held or mapped already
  std::int64_t mapped_weight_bytes = 0;    ///< of these counted as free, though in constant use
  std::int64_t workspace_bytes = 0;        ///< of one step, from the dry run
  std::int64_t block_bytes = 0;            ///< in the layers that see everything
  std::int64_t window_block_bytes = 0;     ///< in those with a window
  std::int64_t block_size = 0;
  std::int64_t window = 0;             ///< of the latter; 0 = there are none
  std::int64_t num_seqs = 0;           ///< computed at a time
  std::int64_t step_tokens = 0;        ///< computed in one step
  std::int64_t max_useful_tokens = 0;  ///< a larger cache would never be filled by sequences
  std::int64_t kv_cache_bytes = 0;     ///< wanted; 0 = what is free
  std::int64_t reserve_bytes = 0;      ///< left free when the cache takes what is free
  std::int64_t min_context = 0;        ///< tokens that the cache must hold at least
};

/// The device memory of an engine, decided before anything is allocated.
///
/// Layers with a window have a pool of their own. It holds what all sequences see and a step
/// computes, and besides a window for each four windows of cached tokens; a cache that is too small
/// for that has as many window blocks as others, as if there were no window.
struct MemoryPlan {
  std::int64_t weight_bytes = 0;
  std::int64_t workspace_bytes = 0;
  std::int64_t kv_bytes = 0;
  std::int64_t num_blocks = 0;
  std::int64_t block_size = 0;
  std::int64_t block_bytes = 0;
  std::int64_t window = 0;
  std::int64_t num_window_blocks = 0;
  std::int64_t window_block_bytes = 0;
  std::optional<std::int64_t> free_bytes;

  /// Tokens of one sequence that fit.
  std::int64_t kv_tokens() const;
};

/// Pure. Errors  kResourceExhausted: the cache would hold less than min_context tokens;
/// kInvalidArgument: free memory is unknown and no size was given.
Result<MemoryPlan> plan_memory(const MemoryNeeds& needs);

/// An aligned table for people.
std::string to_text(const MemoryPlan& plan);
Json to_json(const MemoryPlan& plan);

}  // namespace plumb
