// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  SeqId arrival{};
  auto operator<=>(const QueueKey&) const = default;
};

/// In which order sequences get computed. Pure: it decides from values and remembers nothing.
/// Thread: engine.
class SchedulePolicy {
 public:
  virtual ~SchedulePolicy() = default;
  /// Depends on what never changes in a sequence's life.
  virtual QueueKey key(const SeqSnapshot& seq) const = 0;
  /// Which of the waiting sequences begin in this step, and with how many tokens.
  /// Requires waiting is in the order of key().
  virtual std::vector<Pick> pick(std::span<const SeqSnapshot> waiting, Budget budget) = 0;
};

enum class ScheduleOrder : unsigned char {
  kFcfs,      ///< by arrival
  kPriority,  ///< more important first, then by arrival
};

std::unique_ptr<SchedulePolicy> make_schedule_policy(ScheduleOrder order);

}  // namespace plumb
