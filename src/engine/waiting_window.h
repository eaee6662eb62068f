// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/sequence_queues.h"
#include "scheduler/planner.h"

namespace plumb {

/// What does not depend on the cache.
SeqSnapshot snapshot_of(const Sequence& seq);

/// Of the queue, how many sequences a plan may choose from.
inline constexpr std::int64_t kPlanWindow = 32;

/// The first of the queue as a plan sees them: in the policy's order, the lanes in turns, with what
/// the prefix cache holds of each.
/// Thread  engine.
/// Cost    of the queue at most 128 are looked at, of the prefix cache's look-ups at most 64 made.
class WaitingWindow {
 public:
  /// All of it outlives the window.
  WaitingWindow(const Planner& planner, const KvCache& cache, SequenceQueues& queues)
      : planner_(planner), cache_(cache), queues_(queues) {}

  /// Looks again, when the engine has computed that many tokens. Valid until the next call.
  /// Sequences that is_held (may be empty) are left out: they cannot begin yet.
  std::span<const SeqSnapshot> look(std::span<const SeqSnapshot> running,
                                    std::int64_t tokens_computed,
                                    const std::function<bool(const Sequence&)>& is_held);

 private:
  void choose(std::span<const SeqSnapshot> running, std::int64_t tokens_computed);
  void order(const Reordering& wanted, std::span<const SeqSnapshot> running,
             std::int64_t tokens_computed);
  void peek(Sequence& seq) const;
  void hash_prefix(Sequence& seq) const;
  std::int64_t cost_of(const Sequence& seq) const;
  std::int64_t shared_with_leaders(const Sequence& seq) const;

  const Planner& planner_;
  const KvCache& cache_;
  SequenceQueues& queues_;
  std::vector<Sequence*> chosen_;
  std::vector<Sequence*> ordered_;
  std::vector<SeqSnapshot> snapshots_;
  std::vector<const Sequence*> leaders_;  ///< whose prompts are being computed, or will be first
  std::int64_t next_peek_ = 0;            ///< counts the looks in turns
};

}  // namespace plumb
