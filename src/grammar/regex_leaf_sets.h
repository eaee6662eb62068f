// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "grammar/byte_set.h"

namespace plumb {

/// Byte sets that tell apart what the escapes of JSON tell apart.
void add_json_text_sets(std::vector<ByteSet>* sets);

}  // namespace plumb
