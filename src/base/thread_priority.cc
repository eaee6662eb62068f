// SPDX-License-Identifier: Apache-2.0
#include "base/thread_priority.h"

#include <algorithm>
#include <sys/resource.h>
#include <unistd.h>

namespace plumb {

void yield_to_other_threads() {
  constexpr int kSteps = 5;  // a factor of 1.25 each
  constexpr int kLowest = 19;
  // On Linux a priority belongs to a thread; the process's id is that of its main thread.
  const int main = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()));
  static_cast<void>(
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), std::min(main + kSteps, kLowest)));
}

}  // namespace plumb
