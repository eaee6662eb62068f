// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/tokenizer.h"

namespace plumb {

inline constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
inline constexpr EncodeOptions kSpecial{.add_special = false, .parse_special = true};

}  // namespace plumb
