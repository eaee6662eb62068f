// SPDX-License-Identifier: Apache-2.0
#include "base/thread_clock.h"

#include "base/processor_time.h"

namespace plumb {
namespace {

class ThreadClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(thread_processor_time()); }

  std::chrono::system_clock::time_point wall_now() const override {
    return system_clock().wall_now();
  }
};

}  // namespace

const Clock& thread_clock() {
  static const ThreadClock clock;
  return clock;
}

}  // namespace plumb
