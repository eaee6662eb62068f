// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/metadata.h"
#include "checkpoint/byte_cursor.h"

namespace plumb {

/// Reads `count` key-value pairs of a GGUF header into `metadata`.
/// Errors kInvalidArgument: as parse_gguf. `alignment` is set if the file has that key.
Status read_gguf_metadata(ByteCursor* cursor, std::int64_t count, Metadata* metadata,
                          std::uint64_t* alignment);

}  // namespace plumb
