// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace plumb {

/// What `plumb doctor` says of the machine. Units: bytes.
struct MachineFacts {
  std::string cpu;
  std::int64_t online_cores = 0;
  std::int64_t usable_cores = 0;          ///< after affinity and control groups
  std::vector<std::string> cpu_features;  ///< of those that kernels ask for
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> available_bytes;  ///< after control groups
  std::string transparent_huge_pages;           ///< "always", "madvise", "never", "unknown"
  std::int64_t free_huge_pages = 0;
  std::string kernel;
  std::string libc;
  std::int64_t max_open_files = 0;
  std::vector<std::string> libraries;  ///< file names of the shared libraries in this process
};

/// Requires  root is "" outside tests: the folder in front of /proc and /sys.
MachineFacts read_machine_facts(const std::string& root = "");
Json to_json(const MachineFacts& facts);

}  // namespace plumb
