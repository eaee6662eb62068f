// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "ops/backend.h"

namespace plumb {

/// Instruction level of the kernels.
enum class CpuTier : unsigned char {
  kAuto,    ///< the widest that the processor has
  kAvx2,    ///< x86-64-v3
  kAvx512,  ///< F, BW, VL, DQ, VNNI
};

struct CpuBackendOptions {
  int num_threads = 0;  ///< the calling thread included; 0 = all usable cores
  CpuTier tier = CpuTier::kAuto;
};

/// The CPU back end.
///
/// Every op's result for a row is bitwise the same whatever the other rows of the batch, the chunk
/// of a prompt and the number of threads (not the tier). Weights of block formats are multiplied by
/// activations in 8 bits per 32 elements with exact integer sums.
///
/// Errors     kUnsupported: the tier is not in this processor, or the processor lacks AVX2, FMA or
///            F16C.
/// Ownership  the back end outlives its streams and weights.
/// Thread     a stream computes with num_threads threads, the caller being one; pack() is called by
///            one thread at a time.
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuBackendOptions& options = {});

}  // namespace plumb
