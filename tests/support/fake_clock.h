// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

namespace plumb {

/// A clock that moves only when the test says so.
class FakeClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }

  std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(now_.time_since_epoch()));
  }

  void advance(std::chrono::nanoseconds by) {
    now_ += std::chrono::duration_cast<Clock::TimePoint::duration>(by);
  }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

}  // namespace plumb
