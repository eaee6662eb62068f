// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace plumb {

/// Source of time, injected so that tests own it (tests/support/fake_clock.h).
/// Thread: any.
class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;                                   ///< monotonic
  virtual std::chrono::system_clock::time_point wall_now() const = 0;  ///< UTC
};

/// The machine's clock; one instance, without state.
const Clock& system_clock();

}  // namespace plumb
