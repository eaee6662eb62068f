// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op_table.h"

// The ops of this back end, one function each; see the contracts in ops/.
namespace plumb::cpu {

#define PLUMB_CPU_OP(Args, name) void name(const Args& args, Stream& stream);
PLUMB_OP_LIST(PLUMB_CPU_OP)
#undef PLUMB_CPU_OP

}  // namespace plumb::cpu
