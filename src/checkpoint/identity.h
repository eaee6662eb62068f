// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace plumb {

/// Names the content of a checkpoint: equal for copies, another name after any change of weights,
/// header or config.json. 64 hexadecimal digits.
/// Cost: reads the bytes of all tensors.
std::string checkpoint_identity(const Checkpoint& checkpoint);

}  // namespace plumb
