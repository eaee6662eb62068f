// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plumb {

/// XXH3-64 of the bytes: tells damaged bytes from whole ones, at the speed of memory. Not against
/// an adversary: use sha256() (base/digest.h) there.
std::uint64_t checksum64(std::span<const std::byte> bytes);

}  // namespace plumb
