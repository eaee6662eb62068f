// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/token_id.h"
#include "kvcache/block_pool.h"
#include "kvcache/evict_policy.h"
#include "kvcache/kv_event_recorder.h"

namespace plumb {

class PrefixTree;
struct PrefixNode;

/// Keeps a cached prefix from being evicted while a sequence uses its blocks, and of its window
/// blocks those that the sequence still sees; lets go when it dies.
///
/// Ownership  the tree outlives it.
/// Thread     engine.
class PrefixLock {
 public:
  PrefixLock() = default;

  PrefixLock(PrefixLock&& other) noexcept
      : tree_(std::exchange(other.tree_, nullptr)),
        node_(std::exchange(other.node_, nullptr)),
        window_begin_(other.window_begin_) {}

  PrefixLock& operator=(PrefixLock&& other) noexcept {
    std::swap(tree_, other.tree_);
    std::swap(node_, other.node_);
    std::swap(window_begin_, other.window_begin_);
    return *this;
  }

  ~PrefixLock();

  bool empty() const { return node_ == nullptr; }

 private:
  friend class PrefixTree;

  PrefixLock(PrefixTree* tree, PrefixNode* node, std::int64_t window_begin)
      : tree_(tree), node_(node), window_begin_(window_begin) {}

  PrefixTree* tree_ = nullptr;
  PrefixNode* node_ = nullptr;
  std::int64_t window_begin_ = 0;  ///< window blocks are protected from here on
};

/// The blocks of one sequence in the layers with a window: first those of the prefix tree,
/// protected by its lock, then its own.
struct WindowBlocks {
  std::vector<BlockId> table;   ///< entries before `begin` say nothing
  std::vector<BlockRef> owned;  ///< leases of the last table entries
  std::int64_t begin = 0;       ///< what is before is behind the window and given back

  /// The first entry that is the sequence's own.
  std::int64_t own_begin() const {
    return static_cast<std::int64_t>(table.size()) - static_cast<std::int64_t>(owned.size());
  }

  std::int64_t num_held() const {
    const auto end = static_cast<std::int64_t>(table.size());
    return end > begin ? end - begin : 0;
  }
};

/// What a look without a lock finds.
struct PrefixPeek {
  std::int64_t num_tokens = 0;  ///< cached and usable, a multiple of the block size
  BlockCount num_evictable;     ///< blocks that match() protects and that nobody holds now
  /// More is stored, but of the window before its end something is gone.
  bool is_cut = false;
};

/// Another block that begins with tokens which a sequence is to compute next.
struct PrefixTail {
  BlockId block{};
  BlockId window_block{};
  std::int64_t num_tokens = 0;  ///< that agree, less than a block; 0 = there is no such block
};

/// What the tree gets to know about the sequence that stores a prefix.
struct PrefixOwner {
  std::int64_t priority = 0;
  bool first_to_evict = false;  ///< the sequence was preempted
};

/// Which token sequences are in the cache: a radix tree whose edges are runs of whole blocks, with
/// one root for each namespace.
///
/// A block is owned by one node, or by one sequence that has not stored it yet. Nodes that no lock
/// protects are evicted from their tails, leaf by leaf, in the order of the strategy, exactly as
/// many blocks as wanted.
///
/// With a window a block has a second part, for the layers that see only the last tokens. That part
/// is evicted by itself, from the beginnings of nodes anywhere in the tree, and the block stays as
/// a tombstone. A prefix is usable up to a point before which the window is whole, and protected as
/// far back as that. A leaf that nobody uses and whose window parts are all gone is forgotten.
/// Thread  engine.
/// Cost    look-up and storing compare each token once; choosing the leaf to evict is logarithmic.
/// Source  Zheng et al. 2024, "SGLang", section 3 (radix attention).
class PrefixTree {
 public:
  /// With a recorder, which outlives the tree, the tree keeps the hash of every block and tells
  /// what it stores and evicts: the full part counts. `window` is in tokens, 0 = blocks have one
  /// part. Requires block_size >= 1.
  PrefixTree(std::int64_t block_size, EvictStrategy strategy, KvEventRecorder* recorder = nullptr,
             std::int64_t window = 0);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// How much of `tokens` match() finds; changes nothing.
  PrefixPeek peek(std::string_view cache_namespace, std::span<const TokenId> tokens) const;

  /// Appends the blocks of the longest usable prefix of `tokens` to `blocks` and protects them;
  /// with a window, fills `window` likewise. The caller leaves out of `tokens` what it must compute
  /// itself (at least the last token). Counts as one reuse, unless the same request has matched
  /// before (it was preempted meanwhile).
  PrefixLock match(std::string_view cache_namespace, std::span<const TokenId> tokens,
                   std::vector<BlockId>* blocks, bool is_new_request = true,
                   WindowBlocks* window = nullptr);

  /// The cached block, whole in all layers, that begins with the most of `next`, the tokens behind
  /// a matched prefix; its lock is empty if nothing was matched. Protects nothing.
  PrefixTail find_tail(std::string_view cache_namespace, const PrefixLock& matched,
                       std::span<const TokenId> next) const;

  /// Stores the full blocks of `tokens` and protects them.
  ///
  /// `blocks` is the sequence's block table; `owned` are its own leases for the blocks from
  /// blocks[blocks.size() - owned.size()] on; the ones before are the tree's and protected by a
  /// lock. The leases of full blocks leave `owned`: they become the tree's, or, where the tree has
  /// that block already, are given back and the table names the tree's block instead. The same
  /// holds for `window`; what the sequence has given back becomes a tombstone where it is new, and
  /// what it has replaces a tombstone.
  /// Returns the lock of the stored prefix; the caller's earlier lock must live until then.
  /// Requires blocks covers tokens.
  PrefixLock insert(std::string_view cache_namespace, std::span<const TokenId> tokens,
                    std::vector<BlockId>* blocks, std::vector<BlockRef>* owned,
                    const PrefixOwner& owner, WindowBlocks* window = nullptr);

  /// No longer protects window blocks before `begin`, counted from the root.
  void release_window(PrefixLock* lock, std::int64_t begin);

  /// Gives back that many blocks, or all that nobody holds; without a window exactly as many.
  /// Returns how many.
  std::int64_t evict(std::int64_t num_blocks);

  /// Gives back that many window blocks, or all that nobody holds. Returns how many.
  std::int64_t evict_window(std::int64_t num_blocks);

  /// Forgets everything. Requires no lock is alive.
  void clear();

  std::int64_t num_blocks() const { return num_blocks_; }

  std::int64_t num_evictable_blocks() const { return num_evictable_; }

  std::int64_t num_protected_blocks() const { return num_blocks_ - num_evictable_; }

  std::int64_t num_window_blocks() const { return num_window_blocks_; }

  std::int64_t num_evictable_window_blocks() const { return num_window_evictable_; }

  std::int64_t num_nodes() const { return num_nodes_; }

  /// Blocks that become evictable when only this lock goes.
  std::int64_t num_exclusive_blocks(const PrefixLock& lock) const;
  std::int64_t num_exclusive_window_blocks(const PrefixLock& lock) const;

  /// Errors kInternal: counters, locks, keys or sets disagree with the tree. `num_locks` is the
  /// number of live PrefixLocks that are not empty, `num_window_uses` of the window blocks that
  /// they protect.
  Status check_invariants(std::int64_t num_locks, std::int64_t num_window_uses = 0) const;

 private:
  friend class PrefixLock;

  struct Walk;

  PrefixNode& root(std::string_view cache_namespace);
  Walk walk(PrefixNode& root, std::span<const TokenId> tokens);
  PrefixNode* split(PrefixNode& node, std::int64_t num_blocks);
  PrefixNode* add_leaf(PrefixNode& parent, std::span<const TokenId> tokens,
                       std::span<BlockRef> blocks, const PrefixOwner& owner);
  PrefixLock lock(PrefixNode* node, std::int64_t window_begin);
  void unlock(const PrefixLock& lock);
  void record_stored(PrefixNode& leaf);
  void shrink(PrefixNode& leaf, std::int64_t num_blocks);
  void drop_tail(PrefixNode& leaf, std::int64_t num_blocks);
  PrefixNode* remove_leaf(PrefixNode& node);
  void settle(PrefixNode* node);
  void forget_if_unused(PrefixNode& root);
  void list_as_leaf(PrefixNode& node);
  void unlist(PrefixNode& node);
  template <class Change>
  void change_key(PrefixNode& node, const Change& change);

  // Window parts (prefix_tree_window.cc).
  bool is_whole(std::int64_t num_blocks) const;
  std::int64_t num_window_gone(const PrefixNode& node) const;
  void name_window(const PrefixNode& last, std::int64_t begin, WindowBlocks* window) const;
  void change_uses(PrefixNode* node, std::int64_t begin, std::int64_t end, std::int64_t by);
  void store_window(PrefixNode& node, WindowBlocks* window);
  void drop_window_front(PrefixNode& node, std::int64_t num_blocks);
  void list_window(PrefixNode& node);
  void unlist_window(PrefixNode& node);

  struct LeafOrder {
    bool operator()(const PrefixNode* a, const PrefixNode* b) const;
  };

  struct WindowOrder {
    bool operator()(const PrefixNode* a, const PrefixNode* b) const;
  };

  std::int64_t block_size_;
  EvictStrategy strategy_;
  KvEventRecorder* recorder_;  ///< may be null
  std::int64_t window_;        ///< tokens; 0 = none
  std::map<std::string, std::unique_ptr<PrefixNode>, std::less<>> roots_;
  std::set<PrefixNode*, LeafOrder> leaves_;          ///< evictable: no children, not locked
  std::set<PrefixNode*, WindowOrder> window_nodes_;  ///< with window blocks that nobody uses
  std::int64_t num_blocks_ = 0;
  std::int64_t num_evictable_ = 0;
  std::int64_t num_window_blocks_ = 0;
  std::int64_t num_window_evictable_ = 0;
  std::int64_t num_nodes_ = 0;  ///< without roots
  std::int64_t now_ = 0;        ///< counts operations that touch nodes
  std::int64_t next_node_id_ = 0;
};

}  // namespace plumb
