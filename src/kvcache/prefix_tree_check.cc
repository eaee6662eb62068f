// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <unordered_set>

#include "kvcache/prefix_node.h"
#include "kvcache/prefix_tree.h"

namespace plumb {
namespace {

struct Totals {
  std::int64_t num_nodes = 0;
  std::int64_t num_blocks = 0;
  std::int64_t num_evictable = 0;
  std::int64_t num_leaves = 0;
  std::int64_t num_window_blocks = 0;
  std::int64_t num_window_evictable = 0;
  std::int64_t num_window_listed = 0;
  std::int64_t num_window_uses = 0;
  std::unordered_set<std::int32_t> block_ids;
  std::unordered_set<std::int32_t> window_ids;
};

Status broken(const PrefixNode& node, const std::string& what) {
  return {Code::kInternal, "prefix tree node " + std::to_string(node.id) + ": " + what};
}

Status check_node(const PrefixNode& node, std::int64_t block_size, Totals* totals) {
  ++totals->num_nodes;
  totals->num_blocks += node.num_blocks();
  totals->num_evictable += node.num_locks == 0 ? node.num_blocks() : 0;
  if (node.blocks.empty() || std::ssize(node.tokens) != node.num_blocks() * block_size) {
    return broken(node, "tokens and blocks disagree");
  }
  for (const BlockRef& block : node.blocks) {
    if (block.empty() || !totals->block_ids.insert(static_cast<std::int32_t>(block.id())).second) {
      return broken(node, "a block is missing or has two owners");
    }
  }
  if (!node.digests.empty() && std::ssize(node.digests) != node.num_blocks()) {
    return broken(node, "blocks and their hashes disagree");
  }
  const bool is_leaf = node.children.empty() && node.num_locks == 0;
  totals->num_leaves += is_leaf ? 1 : 0;
  return is_leaf == node.is_listed ? Status() : broken(node, "leaf set disagrees");
}

Status check_window(const PrefixNode& node, std::int64_t window, Totals* totals) {
  totals->num_window_blocks += std::ssize(node.window_blocks);
  if (std::ssize(node.window_blocks) > (window > 0 ? node.num_blocks() : 0)) {
    return broken(node, "more window blocks than blocks");
  }
  std::int64_t uses_before = 0;
  for (const WindowBlock& part : node.window_blocks) {
    totals->num_window_evictable += part.num_uses == 0 ? 1 : 0;
    totals->num_window_uses += part.num_uses;
    if (part.num_uses < uses_before || part.num_uses > node.num_locks) {
      return broken(node, "uses of window blocks disagree");
    }
    uses_before = part.num_uses;
    const auto id = static_cast<std::int32_t>(part.block.id());
    if (part.block.empty() || !totals->window_ids.insert(id).second) {
      return broken(node, "a window block is missing or has two owners");
    }
  }
  const bool is_evictable = !node.window_blocks.empty() && node.window_blocks.front().num_uses == 0;
  totals->num_window_listed += is_evictable ? 1 : 0;
  if (is_evictable != node.is_window_listed) {
    return broken(node, "set of nodes with unused window blocks disagrees");
  }
  return window > 0 && node.is_listed && node.window_blocks.empty()
             ? broken(node, "an unused leaf without window blocks is kept")
             : Status();
}

Status check_children(const PrefixNode& node, std::int64_t block_size) {
  std::int64_t locks_below = 0;
  for (const auto& [key, child] : node.children) {
    locks_below += child->num_locks;
    if (child->parent != &node || child->begin != node.end() ||
        key.data() != child->tokens.data() || std::ssize(key) != block_size) {
      return broken(node, "a child is filed under a foreign key");
    }
  }
  return locks_below <= node.num_locks ? Status() : broken(node, "a lock is not counted upwards");
}

}  // namespace

Status PrefixTree::check_invariants(std::int64_t num_locks, std::int64_t num_window_uses) const {
  Totals totals;
  std::int64_t locks_at_roots = 0;
  std::vector<const PrefixNode*> todo;
  for (const auto& [name, top] : roots_) {
    locks_at_roots += top->num_locks;
    todo.push_back(top.get());
    if (top->children.empty() && top->num_locks == 0) {
      return broken(*top, "an unused namespace is kept");
    }
  }
  while (!todo.empty()) {
    const PrefixNode& node = *todo.back();
    todo.pop_back();
    if (!node.is_root()) {
      PLUMB_RETURN_IF_ERROR(check_node(node, block_size_, &totals));
      PLUMB_RETURN_IF_ERROR(check_window(node, window_, &totals));
    }
    PLUMB_RETURN_IF_ERROR(check_children(node, block_size_));
    for (const auto& [key, child] : node.children) {
      todo.push_back(child.get());
    }
  }
  if (totals.num_nodes != num_nodes_ || totals.num_blocks != num_blocks_ ||
      totals.num_evictable != num_evictable_ || totals.num_leaves != std::ssize(leaves_) ||
      totals.num_window_blocks != num_window_blocks_ ||
      totals.num_window_evictable != num_window_evictable_ ||
      totals.num_window_listed != std::ssize(window_nodes_)) {
    return {Code::kInternal, "prefix tree counters disagree with the nodes"};
  }
  if (locks_at_roots != num_locks) {
    return {Code::kInternal, "prefix tree holds " + std::to_string(locks_at_roots) +
                                 " locks, sequences hold " + std::to_string(num_locks)};
  }
  if (totals.num_window_uses != num_window_uses) {
    return {Code::kInternal, "prefix tree counts " + std::to_string(totals.num_window_uses) +
                                 " uses of window blocks, sequences " +
                                 std::to_string(num_window_uses)};
  }
  return {};
}

}  // namespace plumb
