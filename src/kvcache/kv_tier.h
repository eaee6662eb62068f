// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "request/kv_event.h"

namespace plumb {

/// Spreads block hashes over the buckets of a hash table; they are uniform already.
struct BlockHashSpread {
  std::size_t operator()(const BlockHash& hash) const {
    struct Halves {
      std::uint64_t low;
      std::uint64_t high;
    };

    return std::bit_cast<Halves>(hash).low;
  }
};

/// Whose a block is; tenants share a tier by TierShares. The number outlives the process.
enum class TierOwner : std::uint64_t {};

inline TierOwner tier_owner(std::string_view tenant) {
  return TierOwner{checksum64(std::as_bytes(std::span(tenant)))};
}

/// A block with its name. The payload is opaque: keys and values of all layers in the order of the
/// engine that wrote it, which may have left some out.
struct TierBlock {
  BlockHash hash{};
  std::span<const std::byte> payload;
  TierOwner owner{};
  bool is_whole = true;  ///< nothing was left out
};

/// What a tier holds and has done so far.
struct TierStats {
  std::int64_t num_blocks = 0;
  std::int64_t num_bytes = 0;    ///< that it takes now
  std::int64_t max_bytes = 0;    ///< that it may take
  std::int64_t num_stored = 0;   ///< blocks put
  std::int64_t num_read = 0;     ///< blocks got
  std::int64_t num_evicted = 0;  ///< blocks that made room
  std::int64_t num_dropped = 0;  ///< blocks that it did not take, for want of room or else
  std::int64_t num_damaged = 0;  ///< blocks that were not what had been put: misses
  std::int64_t num_errors = 0;   ///< reads and writes that the system refused
  bool can_write = true;         ///< false after an error that writing would meet again
};

/// A place for blocks beyond the device's: memory, a disk, another host. Blocks have one size, and
/// what comes out is what was put in or nothing.
///
/// A chain is the hashes of the consecutive blocks of one prefix; what is not there is a miss,
/// whatever the reason, and ends the prefix.
/// Thread: one at a time.
class KvTier {
 public:
  virtual ~KvTier() = default;
  /// Blocks from the beginning of the chain that the tier knows of. Reads no block.
  virtual std::int64_t exists(std::span<const BlockHash> chain) const = 0;
  /// Copies blocks from the beginning of the chain, `out[i]` for `chain[i]`; returns how many came.
  /// What lies in the rest of `out` is undefined.
  /// Requires as many buffers as hashes, each of the size of a block.
  virtual std::int64_t get(std::span<const BlockHash> chain,
                           std::span<const std::span<std::byte>> out) = 0;
  /// Takes copies of blocks that it does not have, or not whole while these are; makes room by its
  /// own rule. Returns how many of these it has so afterwards: the first ones, if there is no room
  /// for all. Requires payloads of the size of a block.
  virtual std::int64_t put(std::span<const TierBlock> blocks) = 0;
  /// Forgets all blocks, for ever.
  virtual void clear() = 0;
  virtual TierStats stats() const = 0;

  /// What came and went since the last call, if the tier keeps that for the caller.
  virtual std::vector<KvEvent> take_events() { return {}; }
};

}  // namespace plumb
