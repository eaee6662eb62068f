// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

namespace plumb {

std::string version_number() {
  return PLUMB_VERSION;
}

std::string version_text() {
  return "plumb " + version_number() + " (" + PLUMB_BUILD_TYPE + ", " + PLUMB_COMPILER + ")";
}

}  // namespace plumb
