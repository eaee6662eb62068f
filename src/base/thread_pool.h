// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bounded_queue.h"
#include "base/status.h"
#include "base/thread.h"

namespace plumb {

/// A few threads that run independent tasks in the order of submission (tokenising, file work).
/// Not for compute with barriers.
///
/// Ownership  the destructor lets all accepted tasks run, then joins.
/// Thread     any; a task must not destroy its pool.
class ThreadPool {
 public:
  /// Requires num_threads >= 1, max_queued >= 1 (tasks accepted and not yet started).
  ThreadPool(const std::string& name, int num_threads, std::int64_t max_queued);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Errors  kResourceExhausted: max_queued tasks wait already.
  Status submit(std::function<void()> task);

  std::int64_t num_queued() const { return tasks_.size(); }

 private:
  BoundedQueue<std::function<void()>> tasks_;
  std::vector<Thread> threads_;
};

}  // namespace plumb
