// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/panel_product.h"

namespace plumb::PLUMB_ISA {

void add_block_products(cpu::KernelTable* table) {
  table->panel_rows = kLanes;
  table->tile_rows = kTileRows;
  table->product[cpu::kTypeQ4_0] = product<cpu::kPanelQ4_0>;
  table->product[cpu::kTypeQ4_1] = product<cpu::kPanelQ4_1>;
  table->product[cpu::kTypeQ5_0] = product<cpu::kPanelQ5_0>;
  table->product[cpu::kTypeQ5_1] = product<cpu::kPanelQ5_1>;
  table->product[cpu::kTypeQ8_0] = product<cpu::kPanelQ8_0>;
  table->product[cpu::kTypeIQ4_NL] = product<cpu::kPanelIQ4_NL>;
  table->product[cpu::kTypeMXFP4] = product<cpu::kPanelMXFP4>;
}

}  // namespace plumb::PLUMB_ISA
