// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// Ok if the weights of `found` can take the place of those of `served`: the same architecture,
/// sizes, types and vocabulary.
/// Errors  kInvalidArgument: says the first difference. kUnsupported: as read_config().
Status check_interchangeable(const Checkpoint& served, const Tokenizer& tokenizer,
                             const Checkpoint& found);

}  // namespace plumb
