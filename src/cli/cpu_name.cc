// SPDX-License-Identifier: Apache-2.0
#include "cli/cpu_name.h"

#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"

namespace plumb {

std::string cpu_name() {
  const Result<std::string> content = read_file("/proc/cpuinfo", 1 << 24);
  std::string name = "unknown processor";
  if (content.ok()) {
    for (const std::string_view line : split(content.value(), '\n')) {
      if (line.starts_with("model name")) {
        name = trim(line.substr(line.find(':') + 1));
        break;
      }
    }
  }
  return name + ", " + std::to_string(num_usable_cores()) + " cores";
}

}  // namespace plumb
