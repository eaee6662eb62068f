// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv_cache.h"
#include "ops/backend.h"
#include "ops/kv_layout.h"

namespace plumb {

/// Copies blocks of the cache to and from host memory, where a block is one run of bytes: layer by
/// layer its keys, then its values. Where layers have a window, a word behind says whether their
/// part is there; else its bytes are zero.
/// Ownership  cache tensors, back end and stream outlive it.
/// Thread     engine.
/// Cost       two copies for each layer, queued in the stream; synchronize() waits for them.
class BlockCopier {
 public:
  BlockCopier(const KvCache& cache, Backend& backend, Stream& stream);

  /// Bytes of one block in host memory under a layout.
  static std::int64_t payload_bytes(const KvLayout& layout);

  /// Bytes of one block in host memory.
  std::int64_t block_bytes() const { return block_bytes_; }

  /// Without a window block, only the layers that see everything are copied.
  /// Requires a payload of block_bytes(), alive until synchronize().
  void to_host(BlockId block, std::optional<BlockId> window, std::span<std::byte> payload);
  void to_device(std::span<const std::byte> payload, BlockId block, std::optional<BlockId> window);

  /// Whether a block in host memory has all its parts.
  bool is_whole(std::span<const std::byte> payload) const;

  /// Waits for the copies. Errors as the stream.
  Status synchronize();

 private:
  // One layer's keys or values: an array of blocks.
  struct Plane {
    std::byte* address;
    std::int64_t block_bytes;
    bool is_windowed;

    std::byte* of(BlockId block) const {
      return address + static_cast<std::int64_t>(block) * block_bytes;
    }
  };

  Backend& backend_;
  Stream& stream_;
  std::vector<Plane> planes_;
  std::int64_t block_bytes_ = 0;
  bool has_mark_ = false;  ///< layers have a window
};

}  // namespace plumb
