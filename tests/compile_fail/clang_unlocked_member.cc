// SPDX-License-Identifier: Apache-2.0
// expect: requires holding mutex
#include "base/mutex.h"

class Count {
 public:
  void add() {
#ifndef PLUMB_MISUSE
    const plumb::MutexLock lock(mutex_);
#endif
    ++value_;
  }

 private:
  plumb::Mutex mutex_;
  int value_ PLUMB_GUARDED_BY(mutex_) = 0;
};

void run(Count& count) {
  count.add();
}
