// SPDX-License-Identifier: Apache-2.0
// expect: use of deleted function
#include "base/file.h"

void keep(plumb::MappedFile file);

void run(plumb::MappedFile file) {
#ifdef PLUMB_MISUSE
  keep(file);
#else
  keep(std::move(file));
#endif
}
