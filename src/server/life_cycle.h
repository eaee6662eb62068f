// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"

namespace plumb {

/// The way of a server to its end: first it drains (no new work, what is open goes on), then it
/// stops (what is left is given up). Neither is taken back.
/// Thread: any.
class LifeCycle {
 public:
  void drain() { is_draining_.store(true); }

  bool is_draining() const { return is_draining_.load(); }

  void stop() { is_stopping_.store(true); }

  bool is_stopping() const { return is_stopping_.load(); }

  /// A call, or what may become one, begins (1) or ends (-1).
  void count_call(std::int64_t change);
  std::int64_t num_calls() const;
  /// Returns when there is none, or at the deadline.
  void wait_for_calls(Clock::TimePoint deadline);

 private:
  std::atomic<bool> is_draining_{false};
  std::atomic<bool> is_stopping_{false};
  mutable Mutex mutex_;
  CondVar call_ended_;
  std::int64_t num_calls_ PLUMB_GUARDED_BY(mutex_) = 0;
};

}  // namespace plumb
