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
    tree_->unlock(*this);
  }
}

PrefixTree::PrefixTree(std::int64_t block_size, EvictStrategy strategy, KvEventRecorder* recorder,
                       std::int64_t window)
    : block_size_(block_size), strategy_(strategy), recorder_(recorder), window_(window) {
  PLUMB_CHECK(block_size >= 1 && window >= 0, "block size or window of the prefix tree");
}

PrefixTree::~PrefixTree() {
  clear();
}

// Where a look-up ended: `node` is the deepest node whose edge matched as a whole or in part.
struct PrefixTree::Walk {
  PrefixNode* node;
  std::int64_t num_blocks_of_node;  // matched of node's own edge
  std::int64_t num_blocks;          // matched in all
  std::int64_t num_usable;          // of these, up to the last point whose window is whole
};

PrefixTree::Walk PrefixTree::walk(PrefixNode& root, std::span<const TokenId> tokens) {
  const auto block_len = static_cast<std::size_t>(block_size_);
  Walk at{&root, 0, 0, 0};
  std::int64_t run = num_blocks_for(window_, block_size_);  // whole blocks up to here
  tokens = tokens.first(tokens.size() / block_len * block_len);
  while (!tokens.empty()) {
    const auto child = at.node->children.find(tokens.first(block_len));
    if (child == at.node->children.end()) {
      break;
    }
    at.node = child->second.get();
    at.num_blocks_of_node = num_common_blocks(at.node->tokens, tokens, block_size_);
    const std::int64_t num_gone = std::min(num_window_gone(*at.node), at.num_blocks_of_node);
    if (num_gone > 0) {
      at.num_usable = is_whole(run) ? at.num_blocks : at.num_usable;
      run = 0;
    }
    run += at.num_blocks_of_node - num_gone;
    at.num_blocks += at.num_blocks_of_node;
    if (at.num_blocks_of_node < at.node->num_blocks()) {
      break;
    }
    tokens = tokens.subspan(at.node->tokens.size());
  }
  at.num_usable = is_whole(run) ? at.num_blocks : at.num_usable;
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
  PrefixPeek found;
  found.num_tokens = end.num_usable * block_size_;
  found.is_cut = end.num_usable < end.num_blocks;
  const std::int64_t window_begin = first_window_block(found.num_tokens, window_, block_size_);
  for (const PrefixNode* node = end.node; !node->is_root(); node = node->parent) {
    const std::int64_t node_end = std::min(node->end(), end.num_usable);
    if (node->num_locks == 0) {
      found.num_evictable.full += std::max<std::int64_t>(node_end - node->begin, 0);
    }
    for (std::int64_t i = std::max(window_begin, node->window_begin()); i < node_end; ++i) {
      const auto at = static_cast<std::size_t>(i - node->window_begin());
      found.num_evictable.window += node->window_blocks[at].num_uses == 0 ? 1 : 0;
    }
  }
  return found;
}

PrefixLock PrefixTree::match(std::string_view cache_namespace, std::span<const TokenId> tokens,
                             std::vector<BlockId>* blocks, bool is_new_request,
                             WindowBlocks* window) {
  const auto root = roots_.find(cache_namespace);
  if (root == roots_.end()) {
    return {};
  }
  const Walk end = walk(*root->second, tokens);
  if (end.num_usable == 0) {
    return {};
  }
  PrefixNode* last = end.node;
  while (last->begin >= end.num_usable) {
    last = last->parent;
  }
  if (end.num_usable < last->end()) {
    last = split(*last, end.num_usable - last->begin);
  }
  const auto begin = static_cast<std::ptrdiff_t>(blocks->size());
  blocks->resize(blocks->size() + static_cast<std::size_t>(end.num_usable));
  auto out = blocks->begin() + begin + end.num_usable;
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
  const std::int64_t window_begin =
      first_window_block(end.num_usable * block_size_, window_, block_size_);
  if (window_ > 0) {
    name_window(*last, window_begin, window);
  }
  return lock(last, window_begin);
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
    if (num_window_gone(*child->second) > 0) {
      return;
    }
    const auto end = std::mismatch(next.begin(), next.end(), child->first.begin());
    if (end.first - next.begin() > best.num_tokens) {
      const std::vector<WindowBlock>& parts = child->second->window_blocks;
      best = {child->second->blocks.front().id(),
              parts.empty() ? BlockId{} : parts.front().block.id(), end.first - next.begin()};
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
                              const PrefixOwner& owner, WindowBlocks* window) {
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
    if (window_ > 0) {
      store_window(*node, window);
    }
  }
  const std::int64_t num_stored = std::max<std::int64_t>(num_full - num_given, 0);
  if (num_full > end.num_blocks) {
    const auto rest = static_cast<std::size_t>(end.num_blocks * block_size_);
    const auto first = static_cast<std::size_t>(end.num_blocks - num_given);
    const auto count = static_cast<std::size_t>(num_full - end.num_blocks);
    last = add_leaf(*last, tokens.subspan(rest), std::span(*owned).subspan(first, count), owner);
    if (window_ > 0) {
      store_window(*last, window);
    }
  }
  // What is still a lease among these is a duplicate and goes back to the pool here.
  owned->erase(owned->begin(), owned->begin() + num_stored);
  if (window_ == 0) {
    return lock(last, 0);
  }
  const std::int64_t own =
      std::clamp<std::int64_t>(num_full - window->own_begin(), 0, std::ssize(window->owned));
  window->owned.erase(window->owned.begin(), window->owned.begin() + own);
  return lock(last, std::min(window->begin, num_full));
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
  upper->begin = node.begin;
  upper->num_locks = node.num_locks;
  upper->evict = node.evict;
  upper->id = next_node_id_++;
  unlist_window(node);
  const std::int64_t num_whole =
      std::max<std::int64_t>(node.begin + num_blocks - node.window_begin(), 0);
  std::move(node.window_blocks.begin(), node.window_blocks.begin() + num_whole,
            std::back_inserter(upper->window_blocks));
  node.window_blocks.erase(node.window_blocks.begin(), node.window_blocks.begin() + num_whole);
  if (!node.digests.empty()) {
    const auto at = node.digests.begin() + num_blocks;
    upper->digests.assign(node.digests.begin(), at);
    node.digests.erase(node.digests.begin(), at);
  }
  node.tokens.erase(node.tokens.begin(), node.tokens.begin() + num_tokens);
  node.blocks.erase(node.blocks.begin(), node.blocks.begin() + num_blocks);
  node.begin += num_blocks;
  node.parent = upper.get();
  const auto block_len = static_cast<std::size_t>(block_size_);
  upper->children.emplace(std::span<const TokenId>(node.tokens).first(block_len),
                          std::move(slot.mapped()));
  slot.key() = std::span<const TokenId>(upper->tokens).first(block_len);
  PrefixNode* result = upper.get();
  slot.mapped() = std::move(upper);
  parent.children.insert(std::move(slot));
  ++num_nodes_;
  list_window(node);
  list_window(*result);
  return result;
}

PrefixNode* PrefixTree::add_leaf(PrefixNode& parent, std::span<const TokenId> tokens,
                                 std::span<BlockRef> blocks, const PrefixOwner& owner) {
  auto leaf = std::make_unique<PrefixNode>();
  leaf->tokens.assign(tokens.begin(), tokens.end());
  leaf->blocks.reserve(blocks.size());
  std::move(blocks.begin(), blocks.end(), std::back_inserter(leaf->blocks));
  leaf->parent = &parent;
  leaf->begin = parent.end();
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

PrefixLock PrefixTree::lock(PrefixNode* node, std::int64_t window_begin) {
  for (PrefixNode* n = node; n != nullptr; n = n->parent) {
    if (n->num_locks++ == 0) {
      num_evictable_ -= n->num_blocks();
      unlist(*n);
    }
  }
  change_uses(node, window_begin, node->end(), 1);
  return {this, node, window_begin};
}

void PrefixTree::unlock(const PrefixLock& lock) {
  change_uses(lock.node_, lock.window_begin_, lock.node_->end(), -1);
  for (PrefixNode* n = lock.node_; n != nullptr; n = n->parent) {
    if (--n->num_locks == 0) {
      num_evictable_ += n->num_blocks();
    }
  }
  settle(lock.node_);
}

std::int64_t PrefixTree::evict(std::int64_t num_blocks) {
  const std::int64_t before = num_blocks_;
  while (before - num_blocks_ < num_blocks && !leaves_.empty()) {
    shrink(**leaves_.begin(), num_blocks - (before - num_blocks_));
  }
  return before - num_blocks_;
}

// Evicts blocks from the tail of a leaf that nobody uses, at most all.
void PrefixTree::shrink(PrefixNode& leaf, std::int64_t num_blocks) {
  drop_tail(leaf, std::min(num_blocks, leaf.num_blocks()));
  settle(&leaf);
}

void PrefixTree::drop_tail(PrefixNode& leaf, std::int64_t num_blocks) {
  const auto rest = static_cast<std::size_t>(leaf.num_blocks() - num_blocks);
  if (!leaf.digests.empty()) {
    if (recorder_ != nullptr) {
      recorder_->removed(std::span<const Digest256>(leaf.digests).subspan(rest), KvMedium::kGpu);
    }
    leaf.digests.resize(rest);
  }
  leaf.blocks.resize(rest);
  num_blocks_ -= num_blocks;
  num_evictable_ -= num_blocks;
  unlist_window(leaf);
  const std::int64_t num_whole = std::min(num_blocks, std::ssize(leaf.window_blocks));
  leaf.window_blocks.resize(leaf.window_blocks.size() - static_cast<std::size_t>(num_whole));
  num_window_blocks_ -= num_whole;
  num_window_evictable_ -= num_whole;
  list_window(leaf);
}

// Puts a node in order that may be a leaf which nobody uses: an empty one goes, and one without
// window blocks, since no match can end in it; then the same for those above.
void PrefixTree::settle(PrefixNode* node) {
  while (!node->is_root() && node->children.empty() && node->num_locks == 0) {
    if (window_ > 0 && node->window_blocks.empty()) {
      drop_tail(*node, node->num_blocks());
    }
    if (!node->blocks.empty()) {
      node->tokens.resize(static_cast<std::size_t>(node->num_blocks() * block_size_));
      list_as_leaf(*node);
      return;
    }
    node = remove_leaf(*node);
  }
  if (node->is_root()) {
    forget_if_unused(*node);
  }
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

// Returns the parent.
PrefixNode* PrefixTree::remove_leaf(PrefixNode& node) {
  PrefixNode* const parent = node.parent;
  unlist(node);
  parent->children.erase(
      std::span<const TokenId>(node.tokens).first(static_cast<std::size_t>(block_size_)));
  --num_nodes_;
  return parent;
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
  unlist_window(node);
  change(node.evict);
  if (was_listed) {
    list_as_leaf(node);
  }
  list_window(node);
}

}  // namespace plumb
