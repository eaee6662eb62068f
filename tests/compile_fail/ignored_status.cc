// SPDX-License-Identifier: Apache-2.0
// expect: ignoring returned value.*nodiscard
#include "base/status.h"

plumb::Status save();

plumb::Status run() {
#ifdef PLUMB_MISUSE
  save();
#else
  PLUMB_RETURN_IF_ERROR(save());
#endif
  return {};
}
