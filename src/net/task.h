// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/io_context.h"
#include "net/unique_function.h"

namespace plumb {

/// A coroutine that runs on one IoContext.
///
/// Requires parameters are taken by value; no lock is held over co_await; a task is awaited or
/// spawned into a TaskScope, exactly once.
template <class T>
using Task = boost::asio::awaitable<T>;

/// Runs start, giving it a function to call once with the outcome, and waits for that call.
///
/// Requires the function is called on the loop of the task, after start has returned. A closure
/// that owns anything is named before the co_await expression, and so is any braced initialiser:
/// g++ 12 destroys or copies such temporaries wrongly there.
template <class T>
Task<T> await_callback(UniqueFunction<void(UniqueFunction<void(T)>)> start) {
  std::optional<T> outcome;
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
      [&outcome, &start](auto handler) {
        start([&outcome, handler = std::move(handler)](T value) mutable {
          outcome.emplace(std::move(value));
          std::move(handler)();
        });
      },
      boost::asio::use_awaitable);
  co_return std::move(*outcome);
}

/// Waits until the clock of the loop has passed a point or a stop is requested; false if stopped.
Task<bool> sleep_until(IoContext& loop, Clock::TimePoint at, std::stop_token stop = {});
Task<bool> sleep_for(IoContext& loop, std::chrono::nanoseconds delay, std::stop_token stop = {});

/// Owner of tasks that run side by side; it is joined before it dies.
///
/// Cancellation is by request: tasks pass stop_token() to what they wait for.
/// Requires all its tasks run on the one loop.
/// Thread: any for spawn, request_stop and join_blocking.
class TaskScope {
 public:
  explicit TaskScope(IoContext& loop);
  /// Requires no task is running.
  ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  void spawn(Task<void> task);

  void request_stop() { stop_.request_stop(); }

  std::stop_token stop_token() const { return stop_.get_token(); }

  std::int64_t num_running() const;

  /// Waits, on the loop, until no task is left. Requires one joiner at a time.
  Task<void> join();
  /// As join(), for a thread that is not the loop's; on a manual loop it polls.
  void join_blocking();

 private:
  void on_end();

  IoContext& loop_;
  std::stop_source stop_;
  mutable Mutex mutex_;
  CondVar ended_;
  std::int64_t num_running_ PLUMB_GUARDED_BY(mutex_) = 0;
  UniqueFunction<void(bool)> joiner_ PLUMB_GUARDED_BY(mutex_);
};

/// Runs a task to its end and returns what it returned.
/// Requires the caller is not on the loop's thread, or the loop is manual and the task ends within
/// one poll().
template <class T>
T run_blocking(IoContext& loop, Task<T> task) {
  std::promise<T> promise;
  std::future<T> future = promise.get_future();
  TaskScope scope(loop);
  scope.spawn([](Task<T> inner, std::promise<T>* out) -> Task<void> {
    out->set_value(co_await std::move(inner));
  }(std::move(task), &promise));
  scope.join_blocking();
  return future.get();
}

}  // namespace plumb
