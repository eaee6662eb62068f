// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace plumb {

/// How many bytes of a tensor its checkpoint's identity looks at.
enum class IdentityBytes : unsigned char {
  kSamples,  ///< 4 KiB each of the beginning, the middle and the end
  kAll,
};

/// Names the content of a checkpoint: equal for copies, another name after any change of header,
/// config.json or the bytes looked at. 64 hexadecimal digits.
/// Cost: reads those bytes of all tensors, and keeps none of their pages in memory.
std::string checkpoint_identity(const Checkpoint& checkpoint, IdentityBytes which);

}  // namespace plumb
