// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::cpu {

/// AVX2, FMA and F16C: what every kernel needs.
bool has_avx2();
/// AVX-512 F, BW, VL, DQ and VNNI, in the processor and enabled by the operating system.
bool has_avx512();

}  // namespace plumb::cpu
