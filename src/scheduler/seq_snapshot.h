// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "kvcache/block_pool.h"
#include "request/request.h"

namespace plumb {

/// Whose request it is, as a number; 0 is the one without a name.
enum class TenantId : std::uint32_t {};

/// What policies may know of a sequence: values, taken once for each step.
struct SeqSnapshot {
  SeqId id{};  ///< also the order of arrival
  TenantId tenant{};
  std::int64_t priority = 0;              ///< higher is more important, whatever order clients use
  std::chrono::microseconds submitted{};  ///< since the clock's zero
  std::int64_t num_tokens = 0;            ///< known: prompt and output so far
  std::int64_t num_computed = 0;  ///< of these in the cache; if waiting: found in the prefix cache
  std::int64_t num_output = 0;
  std::int64_t max_output = 0;
  std::int64_t num_blocks = 0;         ///< held; 0 if waiting
  std::int64_t num_window_blocks = 0;  ///< likewise, of the layers with a window
  std::int64_t num_shared_tokens = 0;  ///< waiting: of its prefix, being computed for another one
  std::int64_t num_pinned_blocks = 0;  ///< waiting: cached blocks that nobody else holds now
  std::int64_t num_pinned_window_blocks = 0;  ///< likewise, of the layers with a window
  std::int64_t num_reclaimable_blocks = 0;    ///< running: free or evictable after its preemption
  std::int64_t num_reclaimable_window_blocks = 0;  ///< likewise, of the layers with a window
  std::int64_t num_recompute_tokens = 0;  ///< running: computed and not cached after preemption
  std::int64_t num_preemptions = 0;       ///< so far
  std::int64_t num_passed = 0;            ///< waiting: later ones that began while it was first
  std::int64_t tokens_waited = 0;         ///< waiting: tokens that the engine computed meanwhile
  std::string_view routing_key = {};
  /// Waiting: for each whole block of its cached prefix a hash of all tokens to its end; only where
  /// the schedule policy asks for them.
  std::span<const std::uint64_t> prefix_hashes = {};
  bool needs_all_logits = false;  ///< every token of the chunk is a logits row (prompt logprobs)

  std::int64_t num_uncached() const { return num_tokens - num_computed; }

  bool is_decode() const { return num_uncached() == 1; }

  BlockCount held() const { return {num_blocks, num_window_blocks}; }

  BlockCount pinned() const { return {num_pinned_blocks, num_pinned_window_blocks}; }

  BlockCount reclaimable() const { return {num_reclaimable_blocks, num_reclaimable_window_blocks}; }
};

/// Whether a waiting sequence does better to let another one, which computes the same prefix now,
/// finish that first: it would find at least a block, and half of what it still has to compute, in
/// the cache.
constexpr bool waits_for_twin(const SeqSnapshot& seq, std::int64_t block_size) {
  const std::int64_t gain = seq.num_shared_tokens - seq.num_computed;
  return gain >= block_size && 2 * gain >= seq.num_uncached();
}

/// When a sequence must have ended, or have been started.
struct SeqDeadline {
  SeqId id{};
  std::chrono::steady_clock::time_point at;
};

}  // namespace plumb
