// SPDX-License-Identifier: Apache-2.0
#include "base/thread_priority.h"

#include <sys/resource.h>
#include <unistd.h>

namespace plumb {

void yield_to_other_threads() {
  constexpr int kLowest = 19;
  // On Linux the priority is the thread's, not the process's.
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowest));
}

}  // namespace plumb
