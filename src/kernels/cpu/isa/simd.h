// SPDX-License-Identifier: Apache-2.0
#pragma once

// PLUMB_ISA (the namespace) and PLUMB_ISA_AVX512 come from the target that compiles the kernels.
#ifdef PLUMB_ISA_AVX512
#include "kernels/cpu/isa/simd_avx512.h"
#else
#include "kernels/cpu/isa/simd_avx2.h"
#endif
