// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <xxhash.h>

namespace plumb {

std::uint64_t checksum64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace plumb
