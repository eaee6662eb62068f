// SPDX-License-Identifier: Apache-2.0
#include "kvcache/prefix_tree.h"

#include <algorithm>

#include "kvcache/prefix_node.h"

namespace plumb {
namespace {

// Blocks that two token runs have in common from their beginnings.
std::int64_t num_common_blocks(std::span<const TokenId> a, std::span<const TokenId> b,
                               std::int64_t block_size) {
  const std::size_t len = std::min(a.size(), b.size());
  const auto end =
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(len), b.begin()).first;
  return (end - a.begin()) / block_size;
}

}  // namespace

bool PrefixTree::LeafOrder::operator()(const PrefixNode* a, const PrefixNode* b) const {
  return a->key != b->key ? a->key < b->key : a->id < b->id;
}

PrefixLock::~PrefixLock() {
  if (node_ != nullptr) {
    tree_->unlock(node_);
  }
}

PrefixTree::PrefixTree(std::int64_t block_size, EvictStrategy strategy, KvEventRecorder* recorder)
    : block_size_(block_size), strategy_(strategy), recorder_(recorder) {
  PLUMB_CHECK(block_size >= 1, "block size of the prefix tree");
}

PrefixTree::~PrefixTree() {
  clear();
}

// Where a look-up ended: `node` is the deepest node whose edge matched as a whole or in part.
struct PrefixTree::Walk {
  PrefixNode* node;
  std::int64_t num_blocks_of_node;  // matched of node's own edge
  std::int64_t num_blocks;          // matched in all
};

PrefixTree::Walk PrefixTree::walk(PrefixNode& root, std::span<const TokenId> tokens) {
  const auto block_len = static_cast<std::size_t>(block_size_);
  Walk at{&root, 0, 0};
  tokens = tokens.first(tokens.size() / block_len * block_len);
  while (!tokens.empty()) {
    const auto child = at.node->children.find(tokens.first(block_len));
    if (child == at.node->children.end()) {
      break;
    }
    at.node = child->second.get();
    at.num_blocks_of_node = num_common_blocks(at.node->tokens, tokens, block_size_);
    at.num_blocks += at.num_blocks_of_node;
    if (at.num_blocks_of_node < at.node->num_blocks()) {
      break;
    }
    tokens = tokens.subspan(at.node->tokens.size());
  }
  return at;
}

PrefixPeek PrefixTree::peek(std::string_view cache_namespace,
                            std::span<const TokenId> tokens) const {
  const auto root = roots_.find(cache_namespace);
  if (root == roots_.end()) {
    return {};
  }
  // Walking changes nothing; it is shared with the operations that go on to change what it found.
  const Walk end = const_cast<PrefixTree*>(this)->walk(  // NOLINT(*-const-cast): see above
      *root->second, tokens);
  PrefixPeek found{end.num_blocks * block_size_, 0};
  std::int64_t of_node = end.num_blocks_of_node;
  for (const PrefixNode* node = end.node; !node->is_root() && node->num_locks == 0;
       node = node->parent) {
    found.num_evictable_blocks += of_node;
    of_node = node->parent->num_blocks();
  }
  return found;
}

PrefixLock PrefixTree::match(std::string_view cache_namespace, std::span<const TokenId> tokens,
                             std::vector<BlockId>* blocks, bool is_new_request) {
  const auto root = roots_.find(cache_namespace);
  if (root == roots_.end()) {
    return {};
  }
  const Walk end = walk(*root->second, tokens);
  if (end.num_blocks == 0) {
    return {};
  }
  PrefixNode* last = end.num_blocks_of_node < end.node->num_blocks()
                         ? split(*end.node, end.num_blocks_of_node)
                         : end.node;
  const auto begin = static_cast<std::ptrdiff_t>(blocks->size());
  blocks->resize(blocks->size() + static_cast<std::size_t>(end.num_blocks));
  auto out = blocks->begin() + begin + end.num_blocks;
  ++now_;
  for (PrefixNode* node = last; !node->is_root(); node = node->parent) {
    change_key(*node, [this, is_new_request](EvictSnapshot& evict) {
      evict.last_access = now_;
      evict.hit_count += is_new_request ? 1 : 0;
      evict.first_to_evict = false;
    });
    for (auto block = node->blocks.rbegin(); block != node->blocks.rend(); ++block) {
      *--out = block->id();
    }
  }
  return lock(last);
}

// Siblings are ordered by the bytes of their first blocks, so those that share the longest
// beginning with some tokens stand next to the place where these would stand.
PrefixTail PrefixTree::find_tail(std::string_view cache_namespace, const PrefixLock& matched,
                                 std::span<const TokenId> next) const {
  const PrefixNode* node = matched.node_;
  if (node == nullptr) {
    const auto root = roots_.find(cache_namespace);
    node = root == roots_.end() ? nullptr : root->second.get();
  }
  const auto block_len = static_cast<std::size_t>(block_size_);
  next = next.first(std::min(next.size(), block_len - 1));
  if (node == nullptr || next.empty()) {
    return {};
  }
  std::vector<TokenId> place(next.begin(), next.end());
  place.resize(block_len);
  const auto after = node->children.lower_bound(place);
  PrefixTail best;
  const auto consider = [&](const auto& child) {
    const auto end = std::mismatch(next.begin(), next.end(), child->first.begin());
    if (end.first - next.begin() > best.num_tokens) {
      best = {child->second->blocks.front().id(), end.first - next.begin()};
    }
  };
  if (after != node->children.end()) {
    consider(after);
  }
  if (after != node->children.begin()) {
    consider(std::prev(after));
  }
  return best;
}

PrefixLock PrefixTree::insert(std::string_view cache_namespace, std::span<const TokenId> tokens,
                              std::vector<BlockId>* blocks, std::vector<BlockRef>* owned,
                              const PrefixOwner& owner) {
  const std::int64_t num_full = static_cast<std::int64_t>(tokens.size()) / block_size_;
  if (num_full == 0) {
    return {};
  }
  const auto num_given = static_cast<std::int64_t>(blocks->size() - owned->size());
  PLUMB_CHECK(std::ssize(*blocks) >= num_full, "a block table shorter than its tokens");
  tokens = tokens.first(static_cast<std::size_t>(num_full * block_size_));
  PrefixNode& top = root(cache_namespace);
  const Walk end = walk(top, tokens);
  PLUMB_CHECK(end.num_blocks >= std::min(num_given, num_full),
              "blocks of a locked prefix are gone");
  PrefixNode* last = end.node;
  if (end.num_blocks_of_node < last->num_blocks()) {
    last = split(*last, end.num_blocks_of_node);
  }
  ++now_;
  std::int64_t i = end.num_blocks;
  for (PrefixNode* node = last; !node->is_root(); node = node->parent) {
    change_key(*node, [&](EvictSnapshot& evict) {
      evict.last_access = now_;
      evict.priority = std::max(evict.priority, owner.priority);
    });
    for (auto block = node->blocks.rbegin(); block != node->blocks.rend(); ++block) {
      (*blocks)[static_cast<std::size_t>(--i)] = block->id();
    }
  }
  const std::int64_t num_stored = std::max<std::int64_t>(num_full - num_given, 0);
  if (num_full > end.num_blocks) {
    const auto rest = static_cast<std::size_t>(end.num_blocks * block_size_);
    const auto first = static_cast<std::size_t>(end.num_blocks - num_given);
    const auto count = static_cast<std::size_t>(num_full - end.num_blocks);
    last = add_leaf(*last, tokens.subspan(rest), std::span(*owned).subspan(first, count), owner);
  }
  // What is still a lease among these is a duplicate and goes back to the pool here.
  owned->erase(owned->begin(), owned->begin() + num_stored);
  return lock(last);
}

PrefixNode& PrefixTree::root(std::string_view cache_namespace) {
  auto found = roots_.find(cache_namespace);
  if (found == roots_.end()) {
    found = roots_.emplace(std::string(cache_namespace), std::make_unique<PrefixNode>()).first;
    found->second->root_name = found->first;
  }
  return *found->second;
}

// Cuts an edge after num_blocks: the new upper node takes the front, the node keeps the rest.
// Returns the upper node. Order of eviction does not change by a mere look-up: the upper node
// inherits everything.
PrefixNode* PrefixTree::split(PrefixNode& node, std::int64_t num_blocks) {
  PrefixNode& parent = *node.parent;
  const auto num_tokens = static_cast<std::ptrdiff_t>(num_blocks * block_size_);
  const std::span<const TokenId> old_key(node.tokens.data(), static_cast<std::size_t>(block_size_));
  auto slot = parent.children.extract(old_key);
  auto upper = std::make_unique<PrefixNode>();
  upper->tokens.assign(node.tokens.begin(), node.tokens.begin() + num_tokens);
  upper->blocks.reserve(static_cast<std::size_t>(num_blocks));
  std::move(node.blocks.begin(), node.blocks.begin() + num_blocks,
            std::back_inserter(upper->blocks));
  upper->parent = &parent;
  upper->num_locks = node.num_locks;
  upper->evict = node.evict;
  upper->id = next_node_id_++;
  if (!node.digests.empty()) {
    const auto at = node.digests.begin() + num_blocks;
    upper->digests.assign(node.digests.begin(), at);
    node.digests.erase(node.digests.begin(), at);
  }
  node.tokens.erase(node.tokens.begin(), node.tokens.begin() + num_tokens);
  node.blocks.erase(node.blocks.begin(), node.blocks.begin() + num_blocks);
  node.parent = upper.get();
  const auto block_len = static_cast<std::size_t>(block_size_);
  upper->children.emplace(std::span<const TokenId>(node.tokens).first(block_len),
                          std::move(slot.mapped()));
  slot.key() = std::span<const TokenId>(upper->tokens).first(block_len);
  PrefixNode* result = upper.get();
  slot.mapped() = std::move(upper);
  parent.children.insert(std::move(slot));
  ++num_nodes_;
  return result;
}

PrefixNode* PrefixTree::add_leaf(PrefixNode& parent, std::span<const TokenId> tokens,
                                 std::span<BlockRef> blocks, const PrefixOwner& owner) {
  auto leaf = std::make_unique<PrefixNode>();
  leaf->tokens.assign(tokens.begin(), tokens.end());
  leaf->blocks.reserve(blocks.size());
  std::move(blocks.begin(), blocks.end(), std::back_inserter(leaf->blocks));
  leaf->parent = &parent;
  leaf->evict = {now_, now_, 0, owner.priority, owner.first_to_evict};
  leaf->id = next_node_id_++;
  PrefixNode* result = leaf.get();
  if (recorder_ != nullptr) {
    record_stored(*result);
  }
  unlist(parent);
  parent.children.emplace(
      std::span<const TokenId>(result->tokens).first(static_cast<std::size_t>(block_size_)),
      std::move(leaf));
  ++num_nodes_;
  num_blocks_ += result->num_blocks();
  num_evictable_ += result->num_blocks();
  list_as_leaf(*result);
  return result;
}

// Continues the hash chain from the node above.
void PrefixTree::record_stored(PrefixNode& leaf) {
  const PrefixNode& parent = *leaf.parent;
  const Digest256* before = parent.is_root() ? nullptr : &parent.digests.back();
  const auto block_len = static_cast<std::size_t>(block_size_);
  leaf.digests.reserve(leaf.blocks.size());
  for (std::size_t i = 0; i < leaf.blocks.size(); ++i) {
    const auto tokens = std::span<const TokenId>(leaf.tokens).subspan(i * block_len, block_len);
    leaf.digests.push_back(i > 0               ? chained_digest(leaf.digests.back(), tokens)
                           : before != nullptr ? chained_digest(*before, tokens)
                                               : chained_digest(parent.root_name, tokens));
  }
  recorder_->stored(before, leaf.digests, leaf.tokens, KvMedium::kGpu);
}

PrefixLock PrefixTree::lock(PrefixNode* node) {
  for (PrefixNode* n = node; n != nullptr; n = n->parent) {
    if (n->num_locks++ == 0) {
      num_evictable_ -= n->num_blocks();
      unlist(*n);
    }
  }
  return {this, node};
}

void PrefixTree::unlock(PrefixNode* node) {
  PrefixNode* top = node;
  for (PrefixNode* n = node; n != nullptr; n = n->parent) {
    if (--n->num_locks == 0) {
      num_evictable_ += n->num_blocks();
      list_as_leaf(*n);
    }
    top = n;
  }
  forget_if_unused(*top);
}

std::int64_t PrefixTree::evict(std::int64_t num_blocks) {
  std::int64_t num_freed = 0;
  while (num_freed < num_blocks && !leaves_.empty()) {
    num_freed += shrink(**leaves_.begin(), num_blocks - num_freed);
  }
  return num_freed;
}

// Evicts blocks from the tail of a leaf, at most all; returns how many.
std::int64_t PrefixTree::shrink(PrefixNode& leaf, std::int64_t num_blocks) {
  const std::int64_t wanted = std::min(num_blocks, leaf.num_blocks());
  const auto rest = static_cast<std::size_t>(leaf.num_blocks() - wanted);
  if (!leaf.digests.empty()) {
    if (recorder_ != nullptr) {
      recorder_->removed(std::span<const Digest256>(leaf.digests).subspan(rest), KvMedium::kGpu);
    }
    leaf.digests.resize(rest);
  }
  leaf.blocks.resize(rest);
  num_blocks_ -= wanted;
  num_evictable_ -= wanted;
  if (leaf.blocks.empty()) {
    remove_leaf(leaf);
  } else {
    leaf.tokens.resize(static_cast<std::size_t>(leaf.num_blocks() * block_size_));
  }
  return wanted;
}

// Deep trees are taken apart leaf by leaf, not by recursion.
void PrefixTree::clear() {
  KvEventRecorder* const recorder = std::exchange(recorder_, nullptr);  // one event says it all
  evict(num_evictable_);
  PLUMB_CHECK(num_blocks_ == 0, "a prefix lock outlives what the tree holds");
  recorder_ = recorder;
  if (recorder_ != nullptr) {
    recorder_->cleared();
  }
}

void PrefixTree::remove_leaf(PrefixNode& node) {
  PrefixNode& parent = *node.parent;
  unlist(node);
  parent.children.erase(
      std::span<const TokenId>(node.tokens).first(static_cast<std::size_t>(block_size_)));
  --num_nodes_;
  if (parent.is_root()) {
    forget_if_unused(parent);
  } else {
    list_as_leaf(parent);
  }
}

void PrefixTree::forget_if_unused(PrefixNode& root) {
  if (root.children.empty() && root.num_locks == 0) {
    roots_.erase(roots_.find(root.root_name));
  }
}

std::int64_t PrefixTree::num_exclusive_blocks(const PrefixLock& lock) const {
  std::int64_t sum = 0;
  for (const PrefixNode* node = lock.node_; node != nullptr && node->num_locks == 1;
       node = node->parent) {
    sum += node->num_blocks();
  }
  return sum;
}

void PrefixTree::list_as_leaf(PrefixNode& node) {
  if (!node.is_root() && node.children.empty() && node.num_locks == 0 && !node.is_listed) {
    node.key = evict_key(strategy_, node.evict);
    node.is_listed = true;
    leaves_.insert(&node);
  }
}

void PrefixTree::unlist(PrefixNode& node) {
  if (node.is_listed) {
    leaves_.erase(&node);
    node.is_listed = false;
  }
}

template <class Change>
void PrefixTree::change_key(PrefixNode& node, const Change& change) {
  const bool was_listed = node.is_listed;
  unlist(node);
  change(node.evict);
  if (was_listed) {
    list_as_leaf(node);
  }
}

}  // namespace plumb
