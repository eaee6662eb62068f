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

/// Keeps a cached prefix from being evicted while a sequence uses its blocks; lets go when it dies.
///
/// Ownership  the tree outlives it.
/// Thread     engine.
class PrefixLock {
 public:
  PrefixLock() = default;

  PrefixLock(PrefixLock&& other) noexcept
      : tree_(std::exchange(other.tree_, nullptr)), node_(std::exchange(other.node_, nullptr)) {}

  PrefixLock& operator=(PrefixLock&& other) noexcept {
    std::swap(tree_, other.tree_);
    std::swap(node_, other.node_);
    return *this;
  }

  ~PrefixLock();

  bool empty() const { return node_ == nullptr; }

 private:
  friend class PrefixTree;

  PrefixLock(PrefixTree* tree, PrefixNode* node) : tree_(tree), node_(node) {}

  PrefixTree* tree_ = nullptr;
  PrefixNode* node_ = nullptr;
};

/// What a look without a lock finds.
struct PrefixPeek {
  std::int64_t num_tokens = 0;            ///< cached, a multiple of the block size
  std::int64_t num_evictable_blocks = 0;  ///< of these, blocks that nobody holds now
};

/// Another block that begins with tokens which a sequence is to compute next.
struct PrefixTail {
  BlockId block{};
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
/// Thread  engine.
/// Cost    look-up and storing compare each token once; choosing the leaf to evict is logarithmic.
/// Source  Zheng et al. 2024, "SGLang", section 3 (radix attention).
class PrefixTree {
 public:
  /// With a recorder, which outlives the tree, the tree keeps the hash of every block and tells
  /// what it stores and evicts. Requires block_size >= 1.
  PrefixTree(std::int64_t block_size, EvictStrategy strategy, KvEventRecorder* recorder = nullptr);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// How much of `tokens` is cached; changes nothing.
  PrefixPeek peek(std::string_view cache_namespace, std::span<const TokenId> tokens) const;

  /// Appends the blocks of the longest cached prefix of `tokens` to `blocks` and protects them. The
  /// caller leaves out of `tokens` what it must compute itself (at least the last token). Counts as
  /// one reuse, unless the same request has matched before (it was preempted meanwhile).
  PrefixLock match(std::string_view cache_namespace, std::span<const TokenId> tokens,
                   std::vector<BlockId>* blocks, bool is_new_request = true);

  /// The cached block that begins with the most of `next`, the tokens behind a matched prefix; its
  /// lock is empty if nothing was matched. Protects nothing.
  PrefixTail find_tail(std::string_view cache_namespace, const PrefixLock& matched,
                       std::span<const TokenId> next) const;

  /// Stores the full blocks of `tokens` and protects them.
  ///
  /// `blocks` is the sequence's block table; `owned` are its own leases for the blocks from
  /// blocks[blocks.size() - owned.size()] on; the ones before are the tree's and protected by a
  /// lock. The leases of full blocks leave `owned`: they become the tree's, or, where the tree has
  /// that block already, are given back and the table names the tree's block instead.
  /// Returns the lock of the stored prefix; the caller's earlier lock must live until then.
  /// Requires blocks covers tokens.
  PrefixLock insert(std::string_view cache_namespace, std::span<const TokenId> tokens,
                    std::vector<BlockId>* blocks, std::vector<BlockRef>* owned,
                    const PrefixOwner& owner);

  /// Gives back exactly that many blocks, or all that nobody holds. Returns how many.
  std::int64_t evict(std::int64_t num_blocks);

  /// Forgets everything. Requires no lock is alive.
  void clear();

  std::int64_t num_blocks() const { return num_blocks_; }

  std::int64_t num_evictable_blocks() const { return num_evictable_; }

  std::int64_t num_protected_blocks() const { return num_blocks_ - num_evictable_; }

  std::int64_t num_nodes() const { return num_nodes_; }

  /// Blocks that become evictable when only this lock goes.
  std::int64_t num_exclusive_blocks(const PrefixLock& lock) const;

  /// Errors kInternal: counters, locks, keys or leaf set disagree with the tree. `num_locks` is the
  /// number of live PrefixLocks that are not empty.
  Status check_invariants(std::int64_t num_locks) const;

 private:
  friend class PrefixLock;

  struct Walk;

  PrefixNode& root(std::string_view cache_namespace);
  Walk walk(PrefixNode& root, std::span<const TokenId> tokens);
  PrefixNode* split(PrefixNode& node, std::int64_t num_blocks);
  PrefixNode* add_leaf(PrefixNode& parent, std::span<const TokenId> tokens,
                       std::span<BlockRef> blocks, const PrefixOwner& owner);
  PrefixLock lock(PrefixNode* node);
  void unlock(PrefixNode* node);
  void record_stored(PrefixNode& leaf);
  std::int64_t shrink(PrefixNode& leaf, std::int64_t num_blocks);
  void remove_leaf(PrefixNode& node);
  void forget_if_unused(PrefixNode& root);
  void list_as_leaf(PrefixNode& node);
  void unlist(PrefixNode& node);
  template <class Change>
  void change_key(PrefixNode& node, const Change& change);

  struct LeafOrder {
    bool operator()(const PrefixNode* a, const PrefixNode* b) const;
  };

  std::int64_t block_size_;
  EvictStrategy strategy_;
  KvEventRecorder* recorder_;  ///< may be null
  std::map<std::string, std::unique_ptr<PrefixNode>, std::less<>> roots_;
  std::set<PrefixNode*, LeafOrder> leaves_;  ///< evictable: no children, not locked
  std::int64_t num_blocks_ = 0;
  std::int64_t num_evictable_ = 0;
  std::int64_t num_nodes_ = 0;  ///< without roots
  std::int64_t now_ = 0;        ///< counts operations that touch nodes
  std::int64_t next_node_id_ = 0;
};

}  // namespace plumb
