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
  std::unordered_set<std::int32_t> block_ids;
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

Status check_children(const PrefixNode& node, std::int64_t block_size) {
  std::int64_t locks_below = 0;
  for (const auto& [key, child] : node.children) {
    locks_below += child->num_locks;
    if (child->parent != &node || key.data() != child->tokens.data() ||
        std::ssize(key) != block_size) {
      return broken(node, "a child is filed under a foreign key");
    }
  }
  return locks_below <= node.num_locks ? Status() : broken(node, "a lock is not counted upwards");
}

}  // namespace

Status PrefixTree::check_invariants(std::int64_t num_locks) const {
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
    }
    PLUMB_RETURN_IF_ERROR(check_children(node, block_size_));
    for (const auto& [key, child] : node.children) {
      todo.push_back(child.get());
    }
  }
  if (totals.num_nodes != num_nodes_ || totals.num_blocks != num_blocks_ ||
      totals.num_evictable != num_evictable_ || totals.num_leaves != std::ssize(leaves_)) {
    return {Code::kInternal, "prefix tree counters disagree with the nodes"};
  }
  if (locks_at_roots != num_locks) {
    return {Code::kInternal, "prefix tree holds " + std::to_string(locks_at_roots) +
                                 " locks, sequences hold " + std::to_string(num_locks)};
  }
  return {};
}

}  // namespace plumb
