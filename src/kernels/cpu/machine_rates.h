// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "kernels/cpu/cpu_backend.h"

namespace plumb {

/// The most that a number of threads of this machine did in a probe: the floors of what kernels
/// take. Units: 10^9 a second; a multiply-add is two operations.
struct CpuRates {
  double read_gb = 0;          ///< bytes read, of a working set
  double float_gflop = 0;      ///< fused multiply-adds of float32
  double int8_gop = 0;         ///< products of 8 bits, as block formats use them
  double int16_gop = 0;        ///< products of 16 bits, as Q13 uses them
  std::int64_t num_bytes = 0;  ///< of the working set
  int num_threads = 0;
};

/// Measures them: the best of a few rounds of some milliseconds each.
///
/// Reads `working_set_bytes` (rounded to whole megabytes, at least one) over and over, so that what
/// caches keep of it counts as in a step that reads as much.
/// Errors  as make_cpu_backend(); kResourceExhausted: no memory for the working set.
/// Thread  any single one; computes with the threads of the options.
Result<CpuRates> measure_cpu_rates(const CpuBackendOptions& options, std::int64_t working_set_bytes,
                                   const Clock& clock);

}  // namespace plumb
