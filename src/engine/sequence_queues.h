// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/sequence.h"
#include "scheduler/fair_share.h"
#include "scheduler/seq_snapshot.h"

namespace plumb {

/// All sequences of an engine: who runs, who waits, whose time is limited. Those that wait stand in
/// lanes, which are served in turns.
/// Thread: engine. Cost: logarithmic when a sequence changes its state, else constant.
class SequenceQueues {
 public:
  explicit SequenceQueues(std::span<const TenantWeight> weights) : fair_(weights) {}

  FairShare& fair() { return fair_; }

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

  /// The first of the queue, at most `count`, written to `out`: each lane in queue order, the lanes
  /// in turns. `cost_of` says how many service tokens a sequence will probably take.
  template <class CostOf>
  void first_waiting(std::int64_t count, const CostOf& cost_of, std::vector<Sequence*>* out) {
    out->clear();
    const std::span<const TenantId> lanes = fair_.waiting_tenants();
    cursors_.resize(lanes_.size());
    for (const TenantId lane : lanes) {
      cursor(lane) = waiting(lane).begin();
    }
    serve(count, [&](TenantId lane) -> std::optional<std::int64_t> {
      if (cursor(lane) == waiting(lane).end()) {
        return std::nullopt;
      }
      out->push_back(*cursor(lane)++);
      return cost_of(*out->back());
    });
  }

  /// Calls `take` as FairShare::serve() does; a single lane is served without turns.
  template <class Take>
  void serve(std::int64_t count, const Take& take) {
    if (fair_.waiting_tenants().size() != 1) {
      fair_.serve(count, take);
      return;
    }
    const TenantId lane = fair_.waiting_tenants().front();
    while (count-- > 0 && take(lane).has_value()) {
    }
  }

  /// Calls `visit` with the first sequence of each lane in which somebody waits.
  template <class Visit>
  void for_each_first(const Visit& visit) const {
    for (const TenantId lane : fair_.waiting_tenants()) {
      visit(**lanes_[static_cast<std::size_t>(lane)].begin());
    }
  }

  /// Calls `visit` with at most `most` of those that wait.
  template <class Visit>
  void for_some_waiting(std::int64_t most, const Visit& visit) const {
    for (const TenantId lane : fair_.waiting_tenants()) {
      for (const Sequence* seq : lanes_[static_cast<std::size_t>(lane)]) {
        if (most-- <= 0) {
          return;
        }
        visit(*seq);
      }
    }
  }

  /// Of the lane in which most wait for its weight, `newcomer`'s where others have as many: the
  /// last in queue order of those that were never in a step. Lanes without any do not count; null
  /// if there is none.
  Sequence* last_unstarted(TenantId newcomer) const;

  /// Whose lane that is; empty where nobody waits.
  std::string_view busiest_tenant() const;

  std::int64_t num_waiting() const { return num_waiting_; }

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

  using Lane = std::set<Sequence*, QueueOrder>;

  void forget_queue_deadline(Sequence& sequence);
  void enqueue(Sequence& sequence);
  void dequeue(Sequence& sequence);

  Lane& waiting(TenantId lane) { return lanes_[static_cast<std::size_t>(lane)]; }

  Lane::iterator& cursor(TenantId lane) { return cursors_[static_cast<std::size_t>(lane)]; }

  std::unordered_map<SeqId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;
  std::vector<Lane> lanes_;  ///< who waits, by lane
  std::vector<Lane::iterator> cursors_;
  std::int64_t num_waiting_ = 0;
  FairShare fair_;
  std::set<std::pair<Clock::TimePoint, SeqId>> deadlines_;
};

}  // namespace plumb
