// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <tuple>

#include "base/option_field.h"
#include "engine/tier_options.h"
#include "kvcache/evict_policy.h"
#include "scheduler/scheduler_options.h"

namespace plumb {

/// How the engine batches, and how much memory it takes.
struct EngineOptions {
  std::int64_t max_num_seqs = 64;
  std::int64_t chunk_tokens = 512;
  std::int64_t merge_tokens = 0;
  std::int64_t max_partial_prefills = 2;
  std::int64_t max_context = 0;
  std::int64_t min_context = 0;
  std::int64_t kv_cache_bytes = 0;
  std::int64_t memory_reserve_bytes = std::int64_t{256} << 20;
  std::int64_t max_queued_requests = 0;
  std::int64_t max_queued_tokens = 0;
  std::chrono::milliseconds timeout{0};
  std::chrono::milliseconds queue_timeout{0};
  bool prefix_cache = true;
  EvictStrategy evict_policy = EvictStrategy::kLru;
  bool kv_events = false;
  double kv_conservativeness = 1.0;
  bool jump_forward = true;
  SchedulerOptions scheduler;  ///< bound by itself
  TierOptions tiers;           ///< bound by itself

  static constexpr auto fields() {
    using S = EngineOptions;
    return std::tuple{
        field(&S::max_num_seqs, "max-num-seqs", "sequences computed at a time", 1, 65536),
        field(&S::chunk_tokens, "chunk-tokens", "tokens computed in one step", 1, 1 << 20),
        field(&S::merge_tokens, "merge-tokens",
              "tokens by which a prompt's last chunk may exceed a step; 0 = chunk-tokens / 16", 0,
              1 << 20),
        field(&S::max_partial_prefills, "max-partial-prefills",
              "prompts that may be computed in part at a time", 1, 65536),
        field(&S::max_context, "max-context",
              "tokens of prompt and answer together; 0 = what the model was trained for", 0,
              1 << 30),
        field(
            &S::min_context, "min-context",
            "refuse to start when the cache cannot hold one request of that many tokens; 0 = 512, "
            "or max-context where that is less",
            0, 1 << 30),
        bytes_field(&S::kv_cache_bytes, "kv-cache-bytes",
                    "memory of the KV cache; 0 = what is free, at most max-num-seqs times "
                    "max-context"),
        bytes_field(&S::memory_reserve_bytes, "memory-reserve-bytes",
                    "memory left free when the KV cache takes what is free"),
        field(&S::max_queued_requests, "max-queued-requests",
              "requests that may wait besides those computed; 0 = four times max-num-seqs, at "
              "least 2048",
              0, 1 << 24),
        field(&S::max_queued_tokens, "max-queued-tokens",
              "prompt tokens that may wait; 0 = no limit", 0),
        field(&S::timeout, "request-timeout", "time from submission to the last token; 0s = none"),
        field(&S::queue_timeout, "queue-timeout",
              "time from submission to the first step; 0s = none"),
        field(&S::prefix_cache, "prefix-cache", "reuse the cache of equal prompt beginnings"),
        choice_field(&S::evict_policy, "evict-policy", "what leaves the prefix cache first",
                     std::array{Choice<EvictStrategy>{"lru", EvictStrategy::kLru},
                                Choice<EvictStrategy>{"lfu", EvictStrategy::kLfu},
                                Choice<EvictStrategy>{"fifo", EvictStrategy::kFifo},
                                Choice<EvictStrategy>{"mru", EvictStrategy::kMru},
                                Choice<EvictStrategy>{"filo", EvictStrategy::kFilo},
                                Choice<EvictStrategy>{"priority", EvictStrategy::kPriority},
                                Choice<EvictStrategy>{"slru", EvictStrategy::kSlru}}),
        field(&S::kv_events, "kv-events",
              "keep the last events of the prefix cache for readers of /kv_events"),
        field(&S::kv_conservativeness, "kv-conservativeness",
              "how much room the cache keeps for answers to come; less admits more and preempts "
              "more",
              0.0, 4.0),
        field(&S::jump_forward, "jump-forward",
              "append the tokens that a grammar dictates without computing a choice for each")};
  }
};

}  // namespace plumb
