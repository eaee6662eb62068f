// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <memory>
#include <span>
#include <vector>

#include "scheduler/chunk.h"
#include "scheduler/seq_snapshot.h"

namespace plumb {

/// A sequence and how many of its tokens the step computes.
struct Pick {
  SeqId seq{};
  std::int64_t num_tokens = 0;
  bool operator==(const Pick&) const = default;
};

/// Place in the queue: the smallest is first.
struct QueueKey {
  std::int64_t rank = 0;
  std::int64_t second = 0;  ///< decides between equal ranks
  SeqId arrival{};
  auto operator<=>(const QueueKey&) const = default;
};

/// What a policy whose order changes from step to step wants to see of the queue.
struct Reordering {
  std::int64_t window = 0;      ///< at most so many, the first by key(); 0 = key() is the order
  bool only_whole = false;      ///< a longer queue stays in the order of key()
  bool needs_prefixes = false;  ///< it looks at num_computed
  bool needs_cache = false;     ///< without prefix cache key() is the order
  bool needs_hashes = false;    ///< it looks at prefix_hashes
};

/// In which order sequences get computed. Pure: it decides from values and remembers nothing.
/// Thread: engine.
class SchedulePolicy {
 public:
  virtual ~SchedulePolicy() = default;

  /// Depends on what never changes in a sequence's life.
  virtual QueueKey key(const SeqSnapshot& seq) const { return {0, 0, seq.id}; }

  virtual Reordering reordering() const { return {}; }

  /// Indices of `waiting`, first to last. Called only where reordering() asks for it.
  /// Requires waiting is in the order of key().
  virtual std::vector<std::int64_t> order(std::span<const SeqSnapshot> waiting,
                                          std::span<const SeqSnapshot> running) const;

  /// Which of the waiting sequences begin in this step, and with how many tokens.
  /// Requires waiting is in the policy's order.
  virtual std::vector<Pick> pick(std::span<const SeqSnapshot> waiting, Budget budget) const;

  /// Tokens of the budget that an unfinished prefill leaves to waiting sequences.
  virtual std::int64_t hold_back(const SeqSnapshot& /*active*/,
                                 std::span<const SeqSnapshot> /*waiting*/,
                                 const Budget& /*budget*/) const {
    return 0;
  }
};

enum class ScheduleOrder : unsigned char {
  kFcfs,                  ///< by arrival
  kPriority,              ///< more important first, then by arrival
  kLof,                   ///< longest output first
  kPriorityLof,           ///< more important first, then longest output
  kRandom,                ///< in no order
  kLpm,                   ///< longest cached prefix first
  kDfsWeight,             ///< depth first through the cached prefixes, most wanted branch first
  kRoutingKey,            ///< keys that run already, most frequent first
  kHrrn,                  ///< highest response ratio: tokens waited over tokens to compute
  kShortestPrefillFirst,  ///< fewest tokens to compute first
};

/// The number of schedule orders.
inline constexpr std::int64_t kNumScheduleOrders = 10;

/// Whether the order depends on the priority of requests.
constexpr bool uses_priority(ScheduleOrder order) {
  return order == ScheduleOrder::kPriority || order == ScheduleOrder::kPriorityLof;
}

/// `aging`: waiting so long counts as one step of priority; zero = never.
std::unique_ptr<SchedulePolicy> make_schedule_policy(ScheduleOrder order,
                                                     std::chrono::microseconds aging = {});

/// The policies whose order depends on the present state of cache and batch; null for others.
std::unique_ptr<SchedulePolicy> make_changing_policy(ScheduleOrder order);

}  // namespace plumb
