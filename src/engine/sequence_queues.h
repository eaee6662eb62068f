// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/sequence.h"
#include "scheduler/seq_snapshot.h"

namespace plumb {

/// All sequences of an engine: who runs, who waits, whose time is limited.
/// Thread: engine. Cost: logarithmic when a sequence changes its state, else constant.
class SequenceQueues {
 public:
  /// Takes a new sequence; it waits.
  Sequence& add(std::unique_ptr<Sequence> sequence);
  Sequence* find(SeqId id);
  /// It runs, and need no longer be started by a deadline.
  void set_running(Sequence& sequence);
  /// Back to its place in the queue.
  void set_waiting(Sequence& sequence);
  /// Forgets it, wherever it is, and hands it over.
  std::unique_ptr<Sequence> remove(Sequence& sequence);

  /// In queue order.
  const std::vector<Sequence*>& running() const { return running_; }

  /// The first of the queue, at most `count`, written to `out`.
  void first_waiting(std::int64_t count, std::vector<Sequence*>* out) const;

  std::int64_t num_waiting() const { return std::ssize(waiting_); }

  bool empty() const { return sequences_.empty(); }

  /// Deadlines that have passed, earliest first, at most 64.
  void passed_deadlines(Clock::TimePoint now, std::vector<SeqDeadline>* out) const;

  /// Any sequence. Requires there is one.
  Sequence& any() { return *sequences_.begin()->second; }

  /// For checks: visits all.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [id, sequence] : sequences_) {
      visit(*sequence);
    }
  }

 private:
  struct QueueOrder {
    bool operator()(const Sequence* a, const Sequence* b) const { return a->key < b->key; }
  };

  void forget_queue_deadline(Sequence& sequence);

  std::unordered_map<SeqId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;
  std::set<Sequence*, QueueOrder> waiting_;
  std::set<std::pair<Clock::TimePoint, SeqId>> deadlines_;
};

}  // namespace plumb
