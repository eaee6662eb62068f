// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "kvcache/kv_tier.h"
#include "request/request.h"

namespace plumb {

enum class EngineState : unsigned char {
  kServing,
  kDraining,  ///< finishes what it has, accepts nothing
  kStopped,
  kFailed,  ///< the device is lost; nothing more is computed
};

/// "serving", "draining", "stopped", "failed".
std::string_view to_text(EngineState state);

/// How long the masks of grammars took, one for each choice under a grammar.
struct MaskTimes {
  /// Upper bounds of the buckets but the last.
  static constexpr std::array<double, 12> kBoundSeconds = {5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                           5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 5e-2};

  std::array<std::int64_t, kBoundSeconds.size() + 1> counts{};  ///< of each bucket alone
  std::chrono::nanoseconds total{};

  void add(std::chrono::nanoseconds time) {
    const double seconds = std::chrono::duration<double>(time).count();
    const auto* bucket = std::lower_bound(kBoundSeconds.begin(), kBoundSeconds.end(), seconds);
    ++counts[static_cast<std::size_t>(bucket - kBoundSeconds.begin())];
    total += time;
  }
};

/// One step as it was. Units: durations as measured by the engine's clock.
struct StepStats {
  std::int64_t num_decode_rows = 0;
  std::int64_t num_prefill_seqs = 0;
  std::int64_t num_prefill_tokens = 0;
  std::int64_t num_logits_rows = 0;
  std::int64_t num_preempted = 0;
  std::int64_t num_admitted = 0;
  std::int64_t num_evicted_blocks = 0;
  std::int64_t num_displaced = 0;         ///< of the preempted, those that made room for others
  std::int64_t num_passing = 0;           ///< of the admitted, those that passed the first
  std::int64_t num_cached_tokens = 0;     ///< that the decode rows attend to
  std::int64_t num_recompute_tokens = 0;  ///< of the prefill tokens, those computed before
  std::int64_t num_started_tokens = 0;    ///< of the prompts that began
  std::int64_t num_started_cached_tokens = 0;  ///< of these, in whole blocks of the prefix cache
  std::chrono::nanoseconds planner_time{};     ///< deciding alone
  std::chrono::nanoseconds plan_time{};        ///< deciding and arranging blocks and inputs
  std::chrono::nanoseconds model_time{};       ///< forward code
  std::chrono::nanoseconds sample_time{};      ///< choosing tokens, events, storing prefixes
};

/// The tiers behind the device's cache.
struct KvTierStats {
  bool is_on = false;
  bool has_disk = false;
  TierStats host;
  TierStats disk;
  std::int64_t host_hit_tokens = 0;      ///< brought to the device, from memory
  std::int64_t disk_hit_tokens = 0;      ///< the same, from the disk to memory before
  std::int64_t num_loads = 0;            ///< prefixes brought to the device
  std::chrono::nanoseconds load_time{};  ///< from memory to the device
};

/// What the engine holds now and has done so far.
struct EngineStats {
  EngineState state = EngineState::kServing;
  bool is_paused = false;  ///< no step is under way, and none begins before resume()
  std::int64_t num_running = 0;
  std::int64_t num_waiting = 0;  ///< accepted and not running, preempted ones included
  std::int64_t block_size = 0;
  std::int64_t num_blocks = 0;
  std::int64_t num_free_blocks = 0;
  std::int64_t num_window_blocks = 0;  ///< of the layers with a window; 0 = there are none
  std::int64_t num_free_window_blocks = 0;
  std::int64_t num_cached_window_blocks = 0;
  std::int64_t num_evictable_window_blocks = 0;
  std::int64_t num_cached_blocks = 0;     ///< in the prefix cache, used or not
  std::int64_t num_evictable_blocks = 0;  ///< in the prefix cache and used by nobody

  // Totals since the start.
  std::int64_t num_steps = 0;
  std::int64_t num_ahead_steps = 0;  ///< launched while the one before was under way
  std::int64_t num_step_seqs = 0;    ///< in these steps, all together
  std::int64_t num_mixed_steps = 0;  ///< with decode rows and prefill chunks
  std::int64_t num_submitted = 0;
  std::int64_t num_finished = 0;  ///< by eos, stop token or length
  std::int64_t num_aborted = 0;
  std::int64_t num_preemptions = 0;
  std::int64_t num_prefix_queries = 0;   ///< sequences that were started, first starts only
  std::int64_t num_prefix_hits = 0;      ///< of these, with cached tokens
  std::int64_t num_tail_copies = 0;      ///< partial blocks copied instead of computed
  std::int64_t num_chunked_prompts = 0;  ///< prefills cut into several steps
  std::int64_t num_evicted_blocks = 0;
  std::int64_t num_evicted_window_blocks = 0;  ///< from the prefix cache, be it as tombstones
  std::int64_t num_passed_window_blocks = 0;   ///< sequences' own, given back behind the window
  std::int64_t num_cut_prefixes =
      0;                            ///< starts whose stored prefix lacked window blocks at its end
  std::int64_t prompt_tokens = 0;   ///< of sequences that were started
  std::int64_t cached_tokens = 0;   ///< of these, found in the prefix cache at first start
  std::int64_t prefill_tokens = 0;  ///< computed, again after preemption included
  std::int64_t completion_tokens = 0;  ///< produced
  std::int64_t num_forced_tokens = 0;  ///< of these, dictated by a grammar without a choice
  MaskTimes mask_times;
  std::int64_t recompute_tokens = 0;  ///< of the prefill tokens, those computed before
  std::int64_t num_displaced = 0;     ///< of the preemptions, those for more important requests
  std::int64_t num_passing = 0;       ///< started while an earlier one had no room
  std::int64_t num_displaced_waiting = 0;  ///< refused or ended in a full queue, for others
  std::int64_t num_refused_requests = 0;   ///< refused: too many requests wait
  std::int64_t num_refused_tokens = 0;     ///< refused: too many tokens wait
  std::int64_t num_refused_ttft = 0;       ///< refused: the queue would take too long
  std::int64_t prefill_allowance = 0;      ///< of the last step: tokens that its time left
  /// In the queue, for one that comes now; nullopt while too little was measured.
  std::optional<std::chrono::milliseconds> predicted_ttft;
  std::chrono::nanoseconds planner_time{};  ///< of plan_time, deciding alone
  std::chrono::nanoseconds plan_time{};
  std::chrono::nanoseconds model_time{};
  std::chrono::nanoseconds sample_time{};
  KvTierStats tiers;

  std::int64_t num_used_blocks() const {
    return num_blocks - num_free_blocks - num_evictable_blocks;
  }

  std::int64_t num_used_window_blocks() const {
    return num_window_blocks - num_free_window_blocks - num_evictable_window_blocks;
  }

  /// Part of the KV cache held by running sequences: of the pool that is fuller.
  double kv_usage() const {
    const auto part = [](std::int64_t used, std::int64_t all) {
      return all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0.0;
    };
    return std::max(part(num_used_blocks(), num_blocks),
                    part(num_used_window_blocks(), num_window_blocks));
  }

  /// Part of the prompt tokens found in the prefix cache at the first start; what is computed again
  /// after a preemption does not count.
  double prefix_hit_rate() const {
    return prompt_tokens > 0
               ? static_cast<double>(cached_tokens) / static_cast<double>(prompt_tokens)
               : 0;
  }
};

/// Whether the engine's thread gets on.
struct Heartbeat {
  std::int64_t num_beats = 0;  ///< rounds of the step loop begun
  bool is_busy = false;        ///< within a step
  Clock::TimePoint last_beat;  ///< when the last round began
};

/// Hears of every step and of every end; metrics are made from it.
/// Thread: engine; must not block.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void on_step(const StepStats& step) = 0;
  /// `event` has a finish reason, usage and timings.
  virtual void on_end(const Request& request, const StreamEvent& event) = 0;
};

}  // namespace plumb
