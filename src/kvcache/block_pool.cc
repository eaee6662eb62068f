// SPDX-License-Identifier: Apache-2.0
#include "kvcache/block_pool.h"

#include <limits>
#include <string>

namespace plumb {

BlockPool::BlockPool(std::int64_t num_blocks) {
  PLUMB_CHECK(num_blocks >= 0 && num_blocks <= std::numeric_limits<std::int32_t>::max(),
              "a pool of " + std::to_string(num_blocks) + " blocks");
  is_free_.assign(static_cast<std::size_t>(num_blocks), 1);
  lease_numbers_.assign(is_free_.size(), 0);
  free_.reserve(is_free_.size());
  for (std::int64_t i = num_blocks - 1; i >= 0; --i) {
    free_.push_back(static_cast<BlockId>(i));
  }
}

Result<BlockRef> BlockPool::take() {
  if (free_.empty()) {
    return Status{Code::kResourceExhausted,
                  "all " + std::to_string(num_blocks()) + " cache blocks are in use"};
  }
  const BlockId id = free_.back();
  free_.pop_back();
  is_free_[static_cast<std::size_t>(id)] = 0;
  ++lease_numbers_[static_cast<std::size_t>(id)];
  return BlockRef(this, id);
}

void BlockPool::give_back(BlockId id) {
  PLUMB_CHECK(!is_free(id),
              "block " + std::to_string(static_cast<std::int32_t>(id)) + " is given back twice");
  is_free_[static_cast<std::size_t>(id)] = 1;
  free_.push_back(id);
}

Status BlockPool::check_invariants() const {
  std::vector<char> seen(is_free_.size(), 0);
  for (const BlockId id : free_) {
    const auto i = static_cast<std::size_t>(id);
    if (i >= seen.size() || seen[i] != 0 || is_free_[i] == 0) {
      return {Code::kInternal, "free list holds block " + std::to_string(i) +
                                   " twice, out of range, or while it is leased"};
    }
    seen[i] = 1;
  }
  if (seen != is_free_) {
    return {Code::kInternal, "a block is marked free and is not in the free list"};
  }
  return {};
}

}  // namespace plumb
