// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/token_id.h"
#include "kvcache/block_pool.h"
#include "kvcache/evict_policy.h"

namespace plumb {

/// Orders the first blocks of siblings, which have equal length; any total order does.
struct FirstBlockOrder {
  bool operator()(std::span<const TokenId> a, std::span<const TokenId> b) const {
    return std::memcmp(a.data(), b.data(), a.size_bytes()) < 0;
  }
};

/// A block of the layers with a window, and for how many sequences it is within the window.
struct WindowBlock {
  BlockRef block;
  std::int64_t num_uses = 0;
};

/// An edge of the prefix tree with the node at its end. A root has no tokens and no parent.
struct PrefixNode {
  std::int64_t begin = 0;       ///< blocks before its first, from the root
  std::vector<TokenId> tokens;  ///< block_size for each block
  std::vector<BlockRef> blocks;
  /// The window parts of its last blocks; those of the blocks before are gone (tombstones). Who
  /// uses one uses all behind it, so that the unused ones come first.
  std::vector<WindowBlock> window_blocks;
  std::vector<Digest256> digests;  ///< of the blocks, while events are recorded; else empty
  PrefixNode* parent = nullptr;
  /// By the first block of each child's tokens; the keys are views of them.
  std::map<std::span<const TokenId>, std::unique_ptr<PrefixNode>, FirstBlockOrder> children;
  std::int64_t num_locks = 0;  ///< on this node or below
  EvictSnapshot evict;
  EvictKey key;                   ///< of `evict`, valid while the node is listed
  std::int64_t id = 0;            ///< breaks ties between keys: older first
  bool is_listed = false;         ///< a leaf that nobody uses
  bool is_window_listed = false;  ///< its first window block is used by nobody
  std::string_view root_name;     ///< of a root: its namespace

  bool is_root() const { return parent == nullptr; }

  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks.size()); }

  std::int64_t end() const { return begin + num_blocks(); }

  /// Where its window blocks begin, in blocks from the root.
  std::int64_t window_begin() const {
    return end() - static_cast<std::int64_t>(window_blocks.size());
  }
};

}  // namespace plumb
