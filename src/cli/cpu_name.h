// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb {

/// The processor as /proc/cpuinfo names it, with the number of cores that this process may use.
std::string cpu_name();

}  // namespace plumb
