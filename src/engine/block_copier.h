// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/block_pool.h"
#include "ops/backend.h"
#include "ops/kv_layout.h"

namespace plumb {

/// Copies blocks of the cache to and from host memory, where a block is one run of bytes: layer by
/// layer its keys, then its values.
/// Ownership  cache tensors, back end and stream outlive it.
/// Thread     engine.
/// Cost       two copies for each layer, queued in the stream; synchronize() waits for them.
class BlockCopier {
 public:
  BlockCopier(std::span<const KvLayerCache> layers, Backend& backend, Stream& stream);

  /// Bytes of one block in host memory.
  std::int64_t block_bytes() const { return block_bytes_; }

  /// Requires a payload of block_bytes(), alive until synchronize().
  void to_host(BlockId block, std::span<std::byte> payload);
  void to_device(std::span<const std::byte> payload, BlockId block);

  /// Waits for the copies. Errors as the stream.
  Status synchronize();

 private:
  // One layer's keys or values: an array of blocks.
  struct Plane {
    std::byte* address;
    std::int64_t block_bytes;

    std::byte* of(BlockId block) const {
      return address + static_cast<std::int64_t>(block) * block_bytes;
    }
  };

  Backend& backend_;
  Stream& stream_;
  std::vector<Plane> planes_;
  std::int64_t block_bytes_ = 0;
};

}  // namespace plumb
