// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"

namespace plumb::PLUMB_ISA {

cpu::KernelTable kernel_table() {
  cpu::KernelTable table;
  add_block_products(&table);
  add_super_block_products(&table);
  add_float_products(&table);
  add_q13_products(&table);
  add_probe(&table);
  add_quantize(&table);
  add_attention(&table);
  add_elementwise(&table);
  add_layer_norm(&table);
  add_row_reductions(&table);
  return table;
}

}  // namespace plumb::PLUMB_ISA
