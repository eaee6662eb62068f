// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_features.h"

namespace plumb::cpu {

bool has_avx512() {
  // The compiler's run-time reads cpuid and XCR0, so that state the system does not save counts as
  // absent.
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace plumb::cpu
