// SPDX-License-Identifier: Apache-2.0
#include "backends.h"
#include "kernels/cpu/cpu_backend.h"

namespace plumb {
namespace {

void add_tier(std::vector<BackendEntry>* entries, const char* name, CpuTier tier) {
  if (!make_cpu_backend({1, tier}).ok()) {
    return;  // not in this processor
  }
  for (const int num_threads : {1, 2, 3}) {
    entries->push_back({std::string(name) + "_t" + std::to_string(num_threads), [=] {
                          return make_cpu_backend({num_threads, tier}).value();
                        }});
  }
}

}  // namespace

void add_cpu_entries(std::vector<BackendEntry>* entries) {
  add_tier(entries, "cpu_avx2", CpuTier::kAvx2);
  add_tier(entries, "cpu_avx512", CpuTier::kAvx512);
}

}  // namespace plumb
