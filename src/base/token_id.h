// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plumb {

using TokenId = std::int32_t;  ///< position in a vocabulary; negative = no token

}  // namespace plumb
