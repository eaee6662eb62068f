// SPDX-License-Identifier: Apache-2.0
#include "server/life_cycle.h"

namespace plumb {

void LifeCycle::count_call(std::int64_t change) {
  {
    const MutexLock lock(mutex_);
    num_calls_ += change;
  }
  call_ended_.notify_all();
}

std::int64_t LifeCycle::num_calls() const {
  const MutexLock lock(mutex_);
  return num_calls_;
}

void LifeCycle::wait_for_calls(Clock::TimePoint deadline) {
  MutexLock lock(mutex_);
  while (num_calls_ > 0 && call_ended_.wait_until(lock, deadline)) {
  }
}

}  // namespace plumb
