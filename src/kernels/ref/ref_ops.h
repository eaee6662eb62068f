// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op_table.h"

/// The defining implementation of every op: plain loops over host memory with sums in double.
///
/// Slow on purpose; an op may allocate. Indices out of range stop at a check.
namespace plumb::ref {

#define PLUMB_REF_DECLARE(Args, name) void name(const Args& args, Stream& stream);
PLUMB_OP_LIST(PLUMB_REF_DECLARE)
#undef PLUMB_REF_DECLARE

}  // namespace plumb::ref
