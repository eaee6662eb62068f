// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "request/request.h"

namespace plumb {

/// What policies may know of a sequence: values, taken once for each step.
struct SeqSnapshot {
  SeqId id{};  ///< also the order of arrival
  std::int64_t priority = 0;
  std::int64_t num_tokens = 0;    ///< known: prompt and output so far
  std::int64_t num_computed = 0;  ///< of these in the cache; if waiting: found in the prefix cache
  std::int64_t num_output = 0;
  std::int64_t max_output = 0;
  std::int64_t num_blocks = 0;              ///< held; 0 if waiting
  std::int64_t num_pinned_blocks = 0;       ///< waiting: cached blocks that nobody else holds now
  std::int64_t num_reclaimable_blocks = 0;  ///< running: free or evictable after its preemption
  std::int64_t num_recompute_tokens = 0;    ///< running: computed and not cached after preemption
  std::int64_t num_preemptions = 0;         ///< so far
  bool needs_all_logits = false;  ///< every token of the chunk is a logits row (prompt logprobs)

  std::int64_t num_uncached() const { return num_tokens - num_computed; }

  bool is_decode() const { return num_uncached() == 1; }
};

/// When a sequence must have ended, or have been started.
struct SeqDeadline {
  SeqId id{};
  std::chrono::steady_clock::time_point at;
};

}  // namespace plumb
