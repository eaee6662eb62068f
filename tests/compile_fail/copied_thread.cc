// SPDX-License-Identifier: Apache-2.0
// expect: use of deleted function
#include "base/thread.h"

void keep(plumb::Thread thread);

void run(plumb::Thread thread) {
#ifdef PLUMB_MISUSE
  keep(thread);
#else
  keep(std::move(thread));
#endif
}
