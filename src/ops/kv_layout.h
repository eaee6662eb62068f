// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace plumb {

/// What a group of layers keeps per token.
enum class KvKind : unsigned char {
  kKeyValue,  ///< keys and values of every token (a window limits only what is read)
};

/// Layers that share shape and rule of their cache. Scheduler and prefix tree see blocks only; a
/// latent, compressed or state cache is another kind here, not a change there.
struct KvGroup {
  KvKind kind = KvKind::kKeyValue;
  std::vector<int> layers;  ///< model layer ids in order
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  DType dtype = DType::kF16;
  std::int64_t window = 0;  ///< keys that a query can see; 0 = all

  /// Bytes that one token takes in all layers of the group (keys and values).
  std::int64_t bytes_per_token() const {
    return 2 * static_cast<std::int64_t>(layers.size()) * num_kv_heads * head_dim *
           traits(dtype).block_bytes;
  }
};

/// The cache of a model as data. One block id stands for `block_size` tokens in every group that
/// sees everything, another one for the same tokens in every group with a window.
struct KvLayout {
  std::int64_t block_size = 32;  ///< tokens
  std::vector<KvGroup> groups;

  /// The largest window; 0 = no group has one.
  std::int64_t window() const {
    std::int64_t largest = 0;
    for (const KvGroup& group : groups) {
      largest = group.window > largest ? group.window : largest;
    }
    return largest;
  }

  std::int64_t bytes_per_token() const {
    std::int64_t sum = 0;
    for (const KvGroup& group : groups) {
      sum += group.bytes_per_token();
    }
    return sum;
  }

  /// Of a block in the groups that have a window, or in those that have none.
  std::int64_t bytes_per_block(bool windowed) const {
    std::int64_t sum = 0;
    for (const KvGroup& group : groups) {
      sum += (group.window > 0) == windowed ? group.bytes_per_token() : 0;
    }
    return sum * block_size;
  }

  std::int64_t bytes_per_block() const { return bytes_per_token() * block_size; }
};

/// The cache memory of one layer: [num_blocks, Hkv, block_size, D] each.
struct KvLayerCache {
  Tensor k;
  Tensor v;
};

}  // namespace plumb
