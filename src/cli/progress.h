// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace plumb {

/// A progress bar on standard error with rate and time left; silent when standard error is no
/// terminal. Thread: one. Cost: redraws at most ten times a second.
class Progress {
 public:
  /// `first` of the total were done before; rate and time left come from the rest.
  explicit Progress(std::string what, std::string unit = "B", std::uint64_t first = 0);
  void update(std::uint64_t done, std::uint64_t total);
  /// Ends the line.
  void finish();

 private:
  std::string what_;
  std::string unit_;
  std::uint64_t first_;
  bool is_terminal_;
  bool has_drawn_ = false;
  Clock::TimePoint start_;
  Clock::TimePoint last_draw_;
};

}  // namespace plumb
