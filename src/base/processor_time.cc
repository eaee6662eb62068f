// SPDX-License-Identifier: Apache-2.0
#include "base/processor_time.h"

#include <ctime>

namespace plumb {

std::chrono::nanoseconds thread_processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace plumb
