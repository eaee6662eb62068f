// SPDX-License-Identifier: Apache-2.0
#include "engine/kv_cache.h"

#include <algorithm>
#include <string>

#include "tensor/host_allocator.h"

namespace plumb {
namespace {

// Keys and values of one layer within the buffer of its group.
KvLayerCache layer_at(const KvGroup& group, const KvLayout& layout, std::int64_t num_blocks,
                      std::byte* address) {
  const Shape shape{num_blocks, group.num_kv_heads, layout.block_size, group.head_dim};
  const std::int64_t half_bytes = shape.num_elements() * traits(group.dtype).block_bytes;
  std::byte* values = address == nullptr ? nullptr : address + half_bytes;
  return {Tensor::dense(address, group.dtype, shape), Tensor::dense(values, group.dtype, shape)};
}

Status check_sum(const std::string& what, const BlockPool& pool, std::int64_t num_cached,
                 std::int64_t num_owned) {
  if (pool.num_free() + num_cached + num_owned == pool.num_blocks()) {
    return {};
  }
  return {Code::kInternal, what + " are lost: " + std::to_string(pool.num_free()) + " free, " +
                               std::to_string(num_cached) + " cached, " +
                               std::to_string(num_owned) + " owned of " +
                               std::to_string(pool.num_blocks())};
}

}  // namespace

KvCache::KvCache(const KvLayout& layout, const Options& options)
    : block_size_(layout.block_size),
      window_(layout.window()),
      prefix_cache_(options.prefix_cache),
      records_events_(options.record_events),
      pool_(options.num_blocks),
      window_pool_(options.num_window_blocks),
      recorder_(layout.block_size),
      tree_(block_size_, options.evict_policy, events(), window_) {}

Result<std::unique_ptr<KvCache>> KvCache::create(const KvLayout& layout, const Options& options,
                                                 Allocator& allocator) {
  std::unique_ptr<KvCache> cache(new KvCache(layout, options));
  for (const KvGroup& group : layout.groups) {
    const std::int64_t num_blocks =
        group.window > 0 ? options.num_window_blocks : options.num_blocks;
    const std::int64_t layer_bytes = group.bytes_per_token() * layout.block_size * num_blocks /
                                     std::max<std::int64_t>(std::ssize(group.layers), 1);
    PLUMB_ASSIGN(Buffer buffer, allocator.allocate(layer_bytes * std::ssize(group.layers)));
    auto* address = static_cast<std::byte*>(buffer.address());
    for (const int layer : group.layers) {
      const auto index = static_cast<std::size_t>(layer);
      cache->layers_.resize(std::max(cache->layers_.size(), index + 1));
      cache->is_windowed_.resize(cache->layers_.size());
      cache->layers_[index] = layer_at(group, layout, num_blocks, address);
      cache->is_windowed_[index] = group.window > 0 ? 1 : 0;
      address = address == nullptr ? nullptr : address + layer_bytes;
    }
    cache->buffers_.push_back(std::move(buffer));
  }
  return cache;
}

void KvCache::discard_memory() {
  PLUMB_CHECK(pool_.num_free() == pool_.num_blocks(), "blocks in use are discarded");
  for (const Buffer& buffer : buffers_) {
    discard_host_memory(buffer.address(), buffer.num_bytes());
  }
}

PrefixPeek KvCache::peek(std::string_view cache_namespace, std::span<const TokenId> tokens) const {
  return prefix_cache_ ? tree_.peek(cache_namespace, tokens) : PrefixPeek{};
}

std::int64_t KvCache::attach(std::string_view cache_namespace, std::span<const TokenId> tokens,
                             bool is_new_request, SeqBlocks* blocks) {
  PLUMB_CHECK(blocks->table.empty(), "a sequence that has blocks starts again");
  if (prefix_cache_) {
    blocks->lock =
        tree_.match(cache_namespace, tokens, &blocks->table, is_new_request, &blocks->window);
  }
  return std::ssize(blocks->table) * block_size_;
}

PrefixTail KvCache::find_tail(std::string_view cache_namespace, const SeqBlocks& blocks,
                              std::span<const TokenId> next) const {
  return prefix_cache_ ? tree_.find_tail(cache_namespace, blocks.lock, next) : PrefixTail{};
}

void KvCache::copy_block(const BlockPair& from, const BlockPair& to, Backend& backend,
                         Stream& stream) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const BlockId source = is_windowed(i) ? from.window : from.full;
    const BlockId target = is_windowed(i) ? to.window : to.full;
    for (const Tensor& half : {layers_[i].k, layers_[i].v}) {
      const std::int64_t num_bytes = half.row_stride * traits(half.dtype).block_bytes;
      auto* base = static_cast<std::byte*>(half.address);
      backend.copy(base + static_cast<std::int64_t>(target) * num_bytes,
                   base + static_cast<std::int64_t>(source) * num_bytes, num_bytes, stream);
    }
  }
}

// Evicting blocks as a whole gives window blocks back too, so what is missing of these comes after.
BlockCount KvCache::make_free(const BlockCount& wanted) {
  const BlockCount before = num_free();
  if (const std::int64_t missing = wanted.full - before.full; missing > 0) {
    tree_.evict(missing);
  }
  if (const std::int64_t missing = wanted.window - window_pool_.num_free(); missing > 0) {
    tree_.evict_window(missing);
  }
  PLUMB_CHECK(num_free().holds(wanted), "the plan takes " + std::to_string(wanted.full) + " and " +
                                            std::to_string(wanted.window) +
                                            " blocks, more than can be evicted");
  return num_free() - before;
}

void KvCache::grow(std::int64_t num_tokens, SeqBlocks* blocks) {
  const auto take = [](BlockPool* pool, std::vector<BlockId>* table, std::vector<BlockRef>* owned) {
    Result<BlockRef> block = pool->take();
    PLUMB_CHECK(block.ok(), "the plan takes more blocks than are free");
    table->push_back(block.value().id());
    owned->push_back(std::move(block).value());
  };
  WindowBlocks& window = blocks->window;
  while (std::ssize(blocks->table) * block_size_ < num_tokens) {
    take(&pool_, &blocks->table, &blocks->owned);
    if (window_ > 0 && std::ssize(window.table) >= window.begin) {
      take(&window_pool_, &window.table, &window.owned);
    } else if (window_ > 0) {
      window.table.emplace_back();
    }
  }
}

std::int64_t KvCache::pass_window(std::int64_t num_computed, SeqBlocks* blocks) {
  WindowBlocks& window = blocks->window;
  // What the last whole block needs stays too, so that the sequence can be stored to there.
  const std::int64_t num_whole = num_computed / block_size_ * block_size_;
  const std::int64_t begin = first_window_block(num_whole, window_, block_size_);
  if (window_ == 0 || begin <= window.begin) {
    return 0;
  }
  tree_.release_window(&blocks->lock, begin);
  const std::int64_t num_own =
      std::clamp<std::int64_t>(begin - window.own_begin(), 0, std::ssize(window.owned));
  window.owned.erase(window.owned.begin(), window.owned.begin() + num_own);
  const std::int64_t end = std::min(begin, std::ssize(window.table));
  for (std::int64_t i = window.begin; i < end; ++i) {
    window.table[static_cast<std::size_t>(i)] = BlockId{};  // the attention sees it no more
  }
  window.begin = begin;
  return num_own;
}

BlockPair KvCache::last_block(const SeqBlocks& blocks) const {
  return {blocks.table.back(), window_ > 0 ? blocks.window.table.back() : BlockId{}};
}

void KvCache::store(std::string_view cache_namespace, std::span<const TokenId> computed,
                    const PrefixOwner& owner, SeqBlocks* blocks) {
  if (!prefix_cache_) {
    return;
  }
  PrefixLock lock = tree_.insert(cache_namespace, computed, &blocks->table, &blocks->owned, owner,
                                 &blocks->window);
  if (!lock.empty()) {
    blocks->lock = std::move(lock);
  }
}

void KvCache::release(SeqBlocks* blocks) {
  blocks->owned.clear();
  blocks->window.owned.clear();
  blocks->lock = PrefixLock();
  blocks->table.clear();
  blocks->window.table.clear();
  blocks->window.begin = 0;
}

BlockCount KvCache::num_reclaimable(const SeqBlocks& blocks) const {
  return {std::ssize(blocks.owned) + tree_.num_exclusive_blocks(blocks.lock),
          std::ssize(blocks.window.owned) + tree_.num_exclusive_window_blocks(blocks.lock)};
}

Status KvCache::check_invariants(std::span<const SeqBlocks* const> sequences) const {
  BlockCount owned;
  std::int64_t num_locks = 0;
  std::int64_t num_window_uses = 0;
  for (const SeqBlocks* blocks : sequences) {
    const WindowBlocks& window = blocks->window;
    owned += {std::ssize(blocks->owned), std::ssize(window.owned)};
    num_locks += blocks->lock.empty() ? 0 : 1;
    num_window_uses += window.num_held() - std::ssize(window.owned);
    if (window_ > 0 && window.table.size() != blocks->table.size()) {
      return {Code::kInternal, "a sequence has tables of two lengths"};
    }
  }
  PLUMB_RETURN_IF_ERROR(pool_.check_invariants());
  PLUMB_RETURN_IF_ERROR(window_pool_.check_invariants());
  PLUMB_RETURN_IF_ERROR(tree_.check_invariants(num_locks, num_window_uses));
  PLUMB_RETURN_IF_ERROR(check_sum("blocks", pool_, tree_.num_blocks(), owned.full));
  return check_sum("window blocks", window_pool_, tree_.num_window_blocks(), owned.window);
}

}  // namespace plumb
