// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "checkpoint/checkpoint.h"

namespace plumb {

/// Ok if both hold tensors of the same names, types and dimensions, whatever their values.
/// Errors kInvalidArgument: the first difference in the order of `expected`, else the first tensor
/// that only `found` has.
Status check_same_tensors(const Checkpoint& expected, const Checkpoint& found);

}  // namespace plumb
