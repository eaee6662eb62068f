// SPDX-License-Identifier: Apache-2.0
// The window parts of cached blocks: which are used, which are gone, which go next.
#include <algorithm>

#include "kvcache/prefix_node.h"
#include "kvcache/prefix_tree.h"

namespace plumb {

// Of a path, the beginning goes first: a prefix is usable while its end is whole.
bool PrefixTree::WindowOrder::operator()(const PrefixNode* a, const PrefixNode* b) const {
  if (a->key != b->key) {
    return a->key < b->key;
  }
  return a->begin != b->begin ? a->begin < b->begin : a->id < b->id;
}

// Whether so many blocks without a tombstone make a window.
bool PrefixTree::is_whole(std::int64_t num_blocks) const {
  return num_blocks * block_size_ >= window_;
}

std::int64_t PrefixTree::num_window_gone(const PrefixNode& node) const {
  return window_ > 0 ? node.num_blocks() - std::ssize(node.window_blocks) : 0;
}

// Names the window blocks of a path from `begin` on.
void PrefixTree::name_window(const PrefixNode& last, std::int64_t begin,
                             WindowBlocks* window) const {
  window->begin = begin;
  window->table.assign(static_cast<std::size_t>(last.end()), BlockId{});
  for (const PrefixNode* node = &last; node->end() > begin; node = node->parent) {
    for (std::int64_t i = std::max(begin, node->begin); i < node->end(); ++i) {
      const auto at = static_cast<std::size_t>(i - node->window_begin());
      window->table[static_cast<std::size_t>(i)] = node->window_blocks[at].block.id();
    }
  }
}

// Counts a user of the window blocks [begin, end) of the path to a node in or out.
void PrefixTree::change_uses(PrefixNode* node, std::int64_t begin, std::int64_t end,
                             std::int64_t by) {
  if (window_ == 0) {
    return;
  }
  for (; node->end() > begin; node = node->parent) {
    const std::int64_t first = std::max(begin, node->begin);
    PLUMB_CHECK(first >= node->window_begin(), "a window block in use is gone");
    unlist_window(*node);
    for (std::int64_t i = first; i < std::min(end, node->end()); ++i) {
      WindowBlock& part = node->window_blocks[static_cast<std::size_t>(i - node->window_begin())];
      num_window_evictable_ -= part.num_uses == 0 ? 1 : 0;
      part.num_uses += by;
      num_window_evictable_ += part.num_uses == 0 ? 1 : 0;
    }
    list_window(*node);
  }
}

// Makes the sequence's own window blocks of that node the tree's where it has none, and names the
// tree's where it has. What a sequence has reaches to the node's end, as does what the node has.
void PrefixTree::store_window(PrefixNode& node, WindowBlocks* window) {
  const std::int64_t own = window->own_begin();
  const std::int64_t gone_end = node.window_begin();
  const std::int64_t first = std::max(own, node.begin);
  for (std::int64_t i = std::max(first, gone_end); i < node.end(); ++i) {
    const auto at = static_cast<std::size_t>(i - gone_end);
    window->table[static_cast<std::size_t>(i)] = node.window_blocks[at].block.id();
  }
  if (first >= gone_end) {
    return;
  }
  unlist_window(node);
  std::vector<WindowBlock> parts;
  parts.reserve(static_cast<std::size_t>(node.end() - first));
  for (std::int64_t i = first; i < gone_end; ++i) {
    parts.push_back({std::move(window->owned[static_cast<std::size_t>(i - own)])});
  }
  num_window_blocks_ += std::ssize(parts);
  num_window_evictable_ += std::ssize(parts);
  std::move(node.window_blocks.begin(), node.window_blocks.end(), std::back_inserter(parts));
  node.window_blocks = std::move(parts);
  list_window(node);
}

void PrefixTree::release_window(PrefixLock* lock, std::int64_t begin) {
  if (lock->empty() || begin <= lock->window_begin_) {
    return;
  }
  const std::int64_t end = std::min(begin, lock->node_->end());
  change_uses(lock->node_, lock->window_begin_, end, -1);
  lock->window_begin_ = end;
}

std::int64_t PrefixTree::evict_window(std::int64_t num_blocks) {
  const std::int64_t before = num_window_blocks_;
  while (before - num_window_blocks_ < num_blocks && !window_nodes_.empty()) {
    PrefixNode& node = **window_nodes_.begin();
    const std::int64_t missing = num_blocks - (before - num_window_blocks_);
    const std::int64_t spare =
        std::ssize(node.window_blocks) - num_blocks_for(window_, block_size_);
    if (node.is_listed && spare <= 0) {
      shrink(node, missing);  // a leaf is of no use beyond what its window still covers
    } else {
      drop_window_front(node, node.is_listed ? std::min(missing, spare) : missing);
    }
  }
  return before - num_window_blocks_;
}

// Makes tombstones of the first blocks, at most of those that nobody uses.
void PrefixTree::drop_window_front(PrefixNode& node, std::int64_t num_blocks) {
  const auto used = std::find_if(node.window_blocks.begin(), node.window_blocks.end(),
                                 [](const WindowBlock& part) { return part.num_uses > 0; });
  const std::int64_t count = std::min<std::int64_t>(num_blocks, used - node.window_blocks.begin());
  unlist_window(node);
  node.window_blocks.erase(node.window_blocks.begin(), node.window_blocks.begin() + count);
  num_window_blocks_ -= count;
  num_window_evictable_ -= count;
  list_window(node);
}

std::int64_t PrefixTree::num_exclusive_window_blocks(const PrefixLock& lock) const {
  std::int64_t sum = 0;
  for (const PrefixNode* node = lock.node_;
       window_ > 0 && node != nullptr && node->end() > lock.window_begin_; node = node->parent) {
    for (std::int64_t i = std::max(lock.window_begin_, node->begin); i < node->end(); ++i) {
      const auto at = static_cast<std::size_t>(i - node->window_begin());
      sum += node->window_blocks[at].num_uses == 1 ? 1 : 0;
    }
  }
  return sum;
}

void PrefixTree::list_window(PrefixNode& node) {
  if (!node.is_window_listed && !node.window_blocks.empty() &&
      node.window_blocks.front().num_uses == 0) {
    node.key = evict_key(strategy_, node.evict);
    node.is_window_listed = true;
    window_nodes_.insert(&node);
  }
}

void PrefixTree::unlist_window(PrefixNode& node) {
  if (node.is_window_listed) {
    window_nodes_.erase(&node);
    node.is_window_listed = false;
  }
}

}  // namespace plumb
