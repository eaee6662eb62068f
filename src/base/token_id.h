// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plumb {

/// Index of a token in a vocabulary.
using TokenId = std::int32_t;

}  // namespace plumb
