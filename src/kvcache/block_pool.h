// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"

namespace plumb {

/// One block of `block_size` tokens of the cache: in all layers that see everything, or in all that
/// see a window. Each kind has a pool of its own. An index, not an address.
enum class BlockId : std::int32_t {};

/// Blocks of both pools. Where no layer sees a window, `window` is 0.
struct BlockCount {
  std::int64_t full = 0;
  std::int64_t window = 0;

  BlockCount& operator+=(const BlockCount& other) {
    full += other.full;
    window += other.window;
    return *this;
  }

  BlockCount& operator-=(const BlockCount& other) {
    full -= other.full;
    window -= other.window;
    return *this;
  }

  friend BlockCount operator+(BlockCount a, const BlockCount& b) { return a += b; }

  friend BlockCount operator-(BlockCount a, const BlockCount& b) { return a -= b; }

  bool operator==(const BlockCount&) const = default;

  /// Whether there is as much of each.
  bool holds(const BlockCount& other) const { return full >= other.full && window >= other.window; }
};

class BlockPool;

/// The lease of one block: who holds it owns the block, and gives it back by destroying it. An
/// empty BlockRef owns nothing.
///
/// Ownership  the pool outlives it.
/// Thread     engine.
class BlockRef {
 public:
  BlockRef() = default;

  BlockRef(BlockRef&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), id_(other.id_) {}

  BlockRef& operator=(BlockRef&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(id_, other.id_);
    return *this;
  }

  ~BlockRef();

  bool empty() const { return pool_ == nullptr; }

  BlockId id() const { return id_; }

 private:
  friend class BlockPool;

  BlockRef(BlockPool* pool, BlockId id) : pool_(pool), id_(id) {}

  BlockPool* pool_ = nullptr;
  BlockId id_{};
};

/// The blocks of the cache as numbers: free, or leased to exactly one owner (a sequence or the
/// prefix tree). The block given back last is taken first, so that touched memory stays small.
///
/// Thread: engine.
/// Cost: taking and giving back are constant time and allocate nothing.
class BlockPool {
 public:
  /// Requires 0 <= num_blocks < 2^31.
  explicit BlockPool(std::int64_t num_blocks);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Errors kResourceExhausted: all blocks are leased.
  Result<BlockRef> take();

  std::int64_t num_blocks() const { return static_cast<std::int64_t>(is_free_.size()); }

  std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }

  std::int64_t num_leased() const { return num_blocks() - num_free(); }

  /// How often the block was taken: as long as it stays the same, nobody else wrote the block.
  std::uint32_t lease_number(BlockId id) const {
    return lease_numbers_[static_cast<std::size_t>(id)];
  }

  /// The blocks given back last. Requires that none was taken since.
  std::span<const BlockId> last_freed(std::int64_t count) const {
    return std::span(free_).last(static_cast<std::size_t>(count));
  }

  bool is_free(BlockId id) const { return is_free_[static_cast<std::size_t>(id)] != 0; }

  /// Errors kInternal when the free list and the marks disagree.
  Status check_invariants() const;

 private:
  friend class BlockRef;

  void give_back(BlockId id);

  std::vector<BlockId> free_;
  std::vector<char> is_free_;
  std::vector<std::uint32_t> lease_numbers_;
};

inline BlockRef::~BlockRef() {
  if (pool_ != nullptr) {
    pool_->give_back(id_);
  }
}

/// Blocks that `num_tokens` tokens take.
constexpr std::int64_t num_blocks_for(std::int64_t num_tokens, std::int64_t block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

/// The first block that a sequence of num_tokens computed tokens still needs in layers that see
/// `window` tokens. Those before are behind the window of all that it will compute.
constexpr std::int64_t first_window_block(std::int64_t num_tokens, std::int64_t window,
                                          std::int64_t block_size) {
  return num_tokens > window ? (num_tokens - window) / block_size : 0;
}

/// Window blocks that a sequence of that many tokens holds at most while it computes one token at a
/// time: one is partly filled, one partly behind the window. 0 without a window.
constexpr std::int64_t most_window_blocks(std::int64_t num_tokens, std::int64_t window,
                                          std::int64_t block_size) {
  const std::int64_t all = num_blocks_for(num_tokens, block_size);
  const std::int64_t most = num_blocks_for(window, block_size) + 2;
  return window == 0 ? 0 : all < most ? all : most;
}

}  // namespace plumb
