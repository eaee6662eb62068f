// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "net/unique_function.h"

namespace boost::asio {
class io_context;
}

namespace plumb {

/// Names one pending timer of one IoContext; a default-constructed id names none.
struct TimerId {
  Clock::TimePoint at{};
  std::uint64_t number = 0;

  auto operator<=>(const TimerId&) const = default;
};

/// One event loop with its timers, driven by its own thread or, in tests, by poll().
///
/// All time comes from the injected clock: with create_manual() and a fake clock nothing happens
/// until poll() is called, and timers fire when the clock has passed them.
/// Requires the clock outlives it; objects with operations pending on it end before it.
/// Thread: post() any; timers, scratch() and objects bound to the loop: the loop's thread only.
class IoContext {
 public:
  /// A loop with a thread of its own. Errors: the system is out of descriptors.
  static Result<std::unique_ptr<IoContext>> create(std::string thread_name,
                                                   const Clock& clock = system_clock());
  /// A loop without a thread that runs inside poll(). Errors: as create().
  static Result<std::unique_ptr<IoContext>> create_manual(const Clock& clock);

  /// Stops, joins the thread and destroys what was still queued without running it.
  ~IoContext();
  IoContext(const IoContext&) = delete;
  IoContext& operator=(const IoContext&) = delete;

  /// Runs fn on the loop, after what was posted before.
  void post(UniqueFunction<void()> fn);

  /// True on the loop's thread; always true for a manual loop, whose caller is its thread.
  bool in_loop_thread() const;

  bool is_manual() const;

  const Clock& clock() const;

  Clock::TimePoint now() const { return clock().now(); }

  TimerId run_at(Clock::TimePoint at, UniqueFunction<void()> fn);
  TimerId run_after(std::chrono::nanoseconds delay, UniqueFunction<void()> fn);
  /// Forgets a timer; one that has fired already, or none, is ignored.
  void cancel(TimerId id);
  /// When the next timer is due.
  std::optional<Clock::TimePoint> next_deadline() const;

  /// Runs everything that is ready or due now; returns how many functions ran.
  /// Requires a manual loop.
  std::int64_t poll();

  /// Ends the loop and joins its thread. Thread: any but the loop's.
  void stop();

  /// 64 KiB that the running function may use until it returns.
  std::span<char> scratch();

  boost::asio::io_context& native();

 private:
  struct Impl;
  explicit IoContext(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<IoContext>> make(const Clock& clock, bool manual);

  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb
