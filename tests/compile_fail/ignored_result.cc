// SPDX-License-Identifier: Apache-2.0
// expect: ignoring returned value.*nodiscard
#include "base/status.h"

plumb::Result<int> load();

plumb::Status run(int* out) {
#ifdef PLUMB_MISUSE
  *out = 0;
  load();
#else
  PLUMB_ASSIGN(*out, load());
#endif
  return {};
}
