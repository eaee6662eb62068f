// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace plumb {

/// Where a cached block lies.
enum class KvMedium : unsigned char {
  kGpu,        ///< the memory that the model computes in, on the CPU too
  kCpuPinned,  ///< the host tier
  kDisk,
  kRemote,
};

/// "GPU", "CPU_PINNED", "DISK", "REMOTE".
constexpr std::string_view to_text(KvMedium medium) {
  switch (medium) {
    case KvMedium::kGpu:
      return "GPU";
    case KvMedium::kCpuPinned:
      return "CPU_PINNED";
    case KvMedium::kDisk:
      return "DISK";
    case KvMedium::kRemote:
      return "REMOTE";
  }
  return "";
}

/// Names a block by its tokens and everything before it (kvcache/block_digest.h).
using BlockHash = std::array<std::uint8_t, 16>;

/// A change of what the prefix cache holds.
struct KvEvent {
  enum class Kind : unsigned char { kStored, kRemoved, kCleared };

  Kind kind = Kind::kStored;
  KvMedium medium = KvMedium::kGpu;
  std::vector<BlockHash> blocks;    ///< of kStored in their order, of kRemoved in any
  std::optional<BlockHash> parent;  ///< of kStored: the block before the first; none = it begins
  std::vector<TokenId> tokens;      ///< of kStored: block_size for each block
  std::int64_t block_size = 0;      ///< of kStored
};

/// The events of one step.
struct KvEventBatch {
  std::uint64_t seq = 0;  ///< one more than that of the batch before
  std::chrono::system_clock::time_point at;
  std::vector<KvEvent> events;
};

/// A stretch of the batches that are kept.
struct KvEventPage {
  /// What was asked for is not kept any more, or was never there: the reader forgets what it knows
  /// and goes on with these batches.
  bool has_gap = false;
  std::vector<KvEventBatch> batches;
  std::uint64_t next_seq = 0;  ///< to ask for next
};

}  // namespace plumb
