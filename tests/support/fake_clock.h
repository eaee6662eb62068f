// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/clock.h"

namespace plumb {

/// A clock that moves only when the test says so. Thread: any.
class FakeClock final : public Clock {
 public:
  FakeClock() = default;

  FakeClock(const FakeClock& other) : ticks_(other.ticks_.load()) {}

  FakeClock& operator=(const FakeClock&) = delete;

  TimePoint now() const override { return TimePoint(TimePoint::duration(ticks_.load())); }

  std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(now().time_since_epoch()));
  }

  void advance(std::chrono::nanoseconds by) {
    ticks_ += std::chrono::duration_cast<TimePoint::duration>(by).count();
  }

 private:
  std::atomic<TimePoint::rep> ticks_{TimePoint::duration(std::chrono::hours(1)).count()};
};

}  // namespace plumb
