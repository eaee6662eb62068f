// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/panel_format.h"

namespace plumb::cpu {

/// One block of a row taken apart: what a panel stores of it. Codes are unsigned, as PanelFormat
/// counts them; signed group scales are in two's complement.
struct BlockFields {
  std::uint16_t d = 0;  ///< f16, or the exponent byte of MXFP4
  std::uint16_t m = 0;  ///< f16: m or dmin
  unsigned char scales[16] = {};
  unsigned char mins[16] = {};
  unsigned char codes[256] = {};
};

/// Takes the block of PanelFormat::unit elements at `block` apart.
/// Source the GGUF block formats.
void read_block(PanelType type, const std::byte* block, BlockFields* fields);

}  // namespace plumb::cpu
