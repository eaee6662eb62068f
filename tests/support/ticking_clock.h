// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/clock.h"

namespace plumb {

/// A clock that moves by one tick whenever it is looked at, so that a test can say what must have
/// been measured. Thread: one at a time.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(std::chrono::nanoseconds tick)
      : tick_(std::chrono::duration_cast<TimePoint::duration>(tick)) {}

  TimePoint now() const override { return time_ += tick_; }

  std::chrono::system_clock::time_point wall_now() const override { return {}; }

 private:
  TimePoint::duration tick_;
  mutable TimePoint time_;
};

}  // namespace plumb
