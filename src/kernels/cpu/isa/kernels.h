// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/kernel_table.h"

// The parts that fill a kernel table, one per file.
namespace plumb::PLUMB_ISA {

void add_block_products(cpu::KernelTable* table);
void add_super_block_products(cpu::KernelTable* table);
void add_float_products(cpu::KernelTable* table);
void add_q13_products(cpu::KernelTable* table);
void add_probe(cpu::KernelTable* table);
void add_quantize(cpu::KernelTable* table);
void add_attention(cpu::KernelTable* table);
void add_elementwise(cpu::KernelTable* table);
void add_layer_norm(cpu::KernelTable* table);
void add_row_reductions(cpu::KernelTable* table);

}  // namespace plumb::PLUMB_ISA
