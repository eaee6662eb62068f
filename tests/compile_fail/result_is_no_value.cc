// SPDX-License-Identifier: Apache-2.0
// expect: cannot convert
#include "base/status.h"

plumb::Result<int> load();

plumb::Result<int> run() {
#ifdef PLUMB_MISUSE
  int value = load();
#else
  PLUMB_ASSIGN(int value, load());
#endif
  return value + 1;
}
