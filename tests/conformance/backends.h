// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/backend.h"

namespace plumb {

/// A back end of this build under one setting (an instruction set, a thread count).
struct BackendEntry {
  std::string name;  ///< letters, digits and '_'
  std::function<std::unique_ptr<Backend>()> make;
  bool computes = true;  ///< false: shapes only
};

void add_ref_entries(std::vector<BackendEntry>* entries);
void add_meta_entries(std::vector<BackendEntry>* entries);
void add_cpu_entries(std::vector<BackendEntry>* entries);
void add_cuda_entries(std::vector<BackendEntry>* entries);

}  // namespace plumb
