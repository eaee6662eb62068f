// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"

namespace plumb {

/// A few threads for long tasks of several owners, which share them fairly, however long the tasks
/// of some are.
///
/// Only num_running tasks run at a time. One that has run for a slice gives way, where it calls
/// Turn::offer(), to the owner whose last turn is longest ago; among tasks of one owner it is first
/// come, first served. An owner may have several tasks begun, but always leaves as many threads
/// free as it has, so that others need not wait for one of its tasks to end; likewise with tasks
/// that wait to begin.
/// Ownership  the destructor lets all accepted tasks run, then joins.
/// Thread     any; a task must not destroy its pool.
class TurnPool {
 public:
  struct Options {
    int num_threads = 1;          ///< tasks begun and not yet ended, at most
    int num_running = 1;          ///< of these
    std::int64_t max_queued = 1;  ///< tasks not yet begun
    std::chrono::nanoseconds slice = std::chrono::milliseconds(10);
  };

  /// A task's right to run.
  class Turn {
   public:
    /// Lets others run, if the slice is over and others wait. To be called often.
    void offer();

   private:
    friend class TurnPool;

    Turn(TurnPool* pool, std::string owner) : pool_(*pool), owner_(std::move(owner)) {}

    TurnPool& pool_;
    std::string owner_;
    Clock::TimePoint begin_;
  };

  using Task = std::function<void(Turn&)>;

  /// Requires num_threads >= num_running >= 1, max_queued >= 1, and the clock outlives the pool.
  TurnPool(const std::string& name, const Options& options, const Clock& clock);
  ~TurnPool();
  TurnPool(const TurnPool&) = delete;
  TurnPool& operator=(const TurnPool&) = delete;

  /// Errors  kResourceExhausted: as many tasks of this owner wait to begin as there are places
  /// left,
  ///         or more.
  Status submit(const std::string& owner, Task task);

  /// Tasks that wait to begin or to go on.
  std::int64_t num_waiting() const;

  /// Tasks begun and not yet ended.
  int num_begun() const;

 private:
  struct Owner {
    std::deque<Task> queued;
    int num_begun = 0;
    std::uint64_t last_turn = 0;
  };

  using Owners = std::map<std::string, Owner>;

  // A task that wants a turn, in the order of asking.
  struct Waiting {
    Owner* owner;
    bool has_turn = false;
  };

  void work();
  bool begin_task(std::string* owner, Task* task);  // with a turn
  Owners::iterator next_owner() PLUMB_REQUIRES(mutex_);
  void take_turn(const std::string& owner, MutexLock* lock) PLUMB_REQUIRES(mutex_);
  void give_turn() PLUMB_REQUIRES(mutex_);
  void end_task(const std::string& owner);

  const Options options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  Owners owners_ PLUMB_GUARDED_BY(mutex_);  // with tasks
  std::list<Waiting> waiting_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_queued_ PLUMB_GUARDED_BY(mutex_) = 0;
  int num_begun_ PLUMB_GUARDED_BY(mutex_) = 0;
  int num_running_ PLUMB_GUARDED_BY(mutex_) = 0;
  std::uint64_t num_turns_ PLUMB_GUARDED_BY(mutex_) = 0;
  bool is_closed_ PLUMB_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;
};

}  // namespace plumb
