// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kvcache/block_pool.h"
#include "kvcache/kv_event_recorder.h"
#include "kvcache/prefix_tree.h"
#include "ops/backend.h"
#include "ops/kv_layout.h"
#include "tensor/device.h"

namespace plumb {

/// The blocks of one sequence: first those of the prefix tree, protected by the lock, then its own.
struct SeqBlocks {
  std::vector<BlockId> table;   ///< in the layers that see everything
  std::vector<BlockRef> owned;  ///< leases of the last table entries
  WindowBlocks window;          ///< in the layers with a window; as long as `table`, or empty
  PrefixLock lock;
};

/// A block in all layers: what copies are made of.
struct BlockPair {
  BlockId full{};
  BlockId window{};  ///< where the layout has a window
};

/// The memory of keys and values with the record of who uses which block.
///
/// Blocks of the layers that see everything and of those with a window come from two pools; a
/// sequence takes both and gives the latter back as soon as the window has passed them.
/// Thread: engine.
class KvCache {
 public:
  struct Options {
    std::int64_t num_blocks = 0;         ///< of the layers that see everything
    std::int64_t num_window_blocks = 0;  ///< of those with a window
    bool prefix_cache = true;
    EvictStrategy evict_policy = EvictStrategy::kLru;
    bool record_events = false;
  };

  /// Errors kResourceExhausted from the allocator.
  static Result<std::unique_ptr<KvCache>> create(const KvLayout& layout, const Options& options,
                                                 Allocator& allocator);

  /// Cache tensors by model layer.
  std::span<const KvLayerCache> layers() const { return layers_; }

  std::int64_t block_size() const { return block_size_; }

  bool has_prefix_cache() const { return prefix_cache_; }

  /// The largest window, in tokens; 0 = no layer has one.
  std::int64_t window() const { return window_; }

  const BlockPool& pool() const { return pool_; }

  const BlockPool& window_pool() const { return window_pool_; }

  /// Whether a layer's blocks are of the window pool.
  bool is_windowed(std::size_t layer) const { return is_windowed_[layer] != 0; }

  BlockCount num_free() const { return {pool_.num_free(), window_pool_.num_free()}; }

  BlockCount num_evictable() const {
    return {tree_.num_evictable_blocks(), tree_.num_evictable_window_blocks()};
  }

  const PrefixTree& tree() const { return tree_; }

  BlockCount num_available() const { return num_free() + num_evictable(); }

  /// How many blocks can be taken in all layers.
  std::int64_t num_takeable() const {
    const BlockCount available = num_available();
    return window_ > 0 ? std::min(available.full, available.window) : available.full;
  }

  PrefixPeek peek(std::string_view cache_namespace, std::span<const TokenId> tokens) const;

  /// Lets a sequence without blocks begin with the cached prefix of `tokens`; returns its length.
  std::int64_t attach(std::string_view cache_namespace, std::span<const TokenId> tokens,
                      bool is_new_request, SeqBlocks* blocks);

  /// The cached block that begins with the most of `next`, the tokens behind an attached prefix.
  PrefixTail find_tail(std::string_view cache_namespace, const SeqBlocks& blocks,
                       std::span<const TokenId> next) const;

  /// Copies keys and values of all layers, ordered in the stream.
  void copy_block(const BlockPair& from, const BlockPair& to, Backend& backend,
                  Stream& stream) const;

  /// Forgets all prefixes. Requires no sequence has blocks.
  void flush() { tree_.clear(); }

  /// Gives the memory of the blocks back to the system until it is written again. Requires the host
  /// can read it, and that nothing in it is needed: no sequence has blocks, and all is flushed.
  void discard_memory();

  /// What happened to cached blocks since the last call; nothing unless events are recorded.
  std::vector<KvEvent> take_events() { return recorder_.take(); }

  /// For the tiers' events; null unless events are recorded.
  KvEventRecorder* events() { return records_events_ ? &recorder_ : nullptr; }

  /// Evicts until that many blocks are free; returns how many were evicted.
  /// Requires they can be: the planner has counted them.
  BlockCount make_free(const BlockCount& wanted);

  /// Takes blocks for that many tokens in all. Requires they are free.
  void grow(std::int64_t num_tokens, SeqBlocks* blocks);

  /// The first num_computed tokens are computed: gives back window blocks that none of the next
  /// ones sees. Returns how many of them were the sequence's own.
  std::int64_t pass_window(std::int64_t num_computed, SeqBlocks* blocks);

  /// The last block of a sequence.
  BlockPair last_block(const SeqBlocks& blocks) const;

  /// Shares the full blocks of computed tokens with later sequences; the sequence keeps using them.
  void store(std::string_view cache_namespace, std::span<const TokenId> computed,
             const PrefixOwner& owner, SeqBlocks* blocks);

  /// Gives all blocks of a sequence back; stored ones stay cached until evicted.
  void release(SeqBlocks* blocks);

  /// Blocks that releasing the sequence makes free or evictable.
  BlockCount num_reclaimable(const SeqBlocks& blocks) const;

  /// Errors kInternal: free, cached and owned blocks do not add up to the pool, or pool or tree are
  /// broken.
  Status check_invariants(std::span<const SeqBlocks* const> sequences) const;

 private:
  KvCache(const KvLayout& layout, const Options& options);

  std::int64_t block_size_;
  std::int64_t window_;
  bool prefix_cache_;
  bool records_events_;
  std::vector<Buffer> buffers_;
  std::vector<KvLayerCache> layers_;
  std::vector<char> is_windowed_;  ///< by layer
  BlockPool pool_;
  BlockPool window_pool_;
  KvEventRecorder recorder_;
  PrefixTree tree_;
};

}  // namespace plumb
