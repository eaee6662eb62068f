// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/panel_product.h"

namespace plumb::PLUMB_ISA {

void add_super_block_products(cpu::KernelTable* table) {
  table->product[cpu::kTypeQ2_K] = product<cpu::kPanelQ2_K>;
  table->product[cpu::kTypeQ3_K] = product<cpu::kPanelQ3_K>;
  table->product[cpu::kTypeQ4_K] = product<cpu::kPanelQ4_K>;
  table->product[cpu::kTypeQ5_K] = product<cpu::kPanelQ5_K>;
  table->product[cpu::kTypeQ6_K] = product<cpu::kPanelQ6_K>;
  table->product[cpu::kTypeIQ4_XS] = product<cpu::kPanelIQ4_XS>;
}

}  // namespace plumb::PLUMB_ISA
