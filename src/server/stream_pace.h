// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace plumb {

/// Of events that are there at once, so many bytes may wait for their client …
inline constexpr std::int64_t kMaxUnsentEventBytes = 1 << 20;
/// … and after this it is looked whether it has read them.
inline constexpr std::chrono::milliseconds kReaderPause{20};

}  // namespace plumb
