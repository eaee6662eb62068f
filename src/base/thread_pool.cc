// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <utility>

namespace plumb {

ThreadPool::ThreadPool(const std::string& name, int num_threads, std::int64_t max_queued)
    : tasks_(max_queued) {
  PLUMB_CHECK(num_threads >= 1, "a thread pool needs at least one thread");
  threads_.reserve(static_cast<std::size_t>(num_threads));
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back(name + "-" + std::to_string(i), [this] {
      std::function<void()> task;
      while (tasks_.pop(&task, std::chrono::steady_clock::time_point::max()) == Pop::kItem) {
        task();
        task = nullptr;  // what it captured dies now, not when the next task comes
      }
    });
  }
}

ThreadPool::~ThreadPool() {
  tasks_.close();
}

Status ThreadPool::submit(std::function<void()> task) {
  return tasks_.try_push(std::move(task));
}

}  // namespace plumb
