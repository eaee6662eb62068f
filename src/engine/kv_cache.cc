// SPDX-License-Identifier: Apache-2.0
#include "engine/kv_cache.h"

#include <algorithm>
#include <string>

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

}  // namespace

KvCache::KvCache(std::int64_t block_size, const Options& options)
    : block_size_(block_size),
      prefix_cache_(options.prefix_cache),
      records_events_(options.record_events),
      pool_(options.num_blocks),
      recorder_(block_size),
      tree_(block_size, options.evict_policy, events()) {}

Result<std::unique_ptr<KvCache>> KvCache::create(const KvLayout& layout, const Options& options,
                                                 Allocator& allocator) {
  std::unique_ptr<KvCache> cache(new KvCache(layout.block_size, options));
  for (const KvGroup& group : layout.groups) {
    const std::int64_t layer_bytes = group.bytes_per_token() * layout.block_size *
                                     options.num_blocks /
                                     std::max<std::int64_t>(std::ssize(group.layers), 1);
    PLUMB_ASSIGN(Buffer buffer, allocator.allocate(layer_bytes * std::ssize(group.layers)));
    auto* address = static_cast<std::byte*>(buffer.address());
    for (const int layer : group.layers) {
      const auto index = static_cast<std::size_t>(layer);
      cache->layers_.resize(std::max(cache->layers_.size(), index + 1));
      cache->layers_[index] = layer_at(group, layout, options.num_blocks, address);
      address = address == nullptr ? nullptr : address + layer_bytes;
    }
    cache->buffers_.push_back(std::move(buffer));
  }
  return cache;
}

PrefixPeek KvCache::peek(std::string_view cache_namespace, std::span<const TokenId> tokens) const {
  return prefix_cache_ ? tree_.peek(cache_namespace, tokens) : PrefixPeek{};
}

std::int64_t KvCache::attach(std::string_view cache_namespace, std::span<const TokenId> tokens,
                             bool is_new_request, SeqBlocks* blocks) {
  PLUMB_CHECK(blocks->table.empty(), "a sequence that has blocks starts again");
  if (prefix_cache_) {
    blocks->lock = tree_.match(cache_namespace, tokens, &blocks->table, is_new_request);
  }
  return std::ssize(blocks->table) * block_size_;
}

PrefixTail KvCache::find_tail(std::string_view cache_namespace, const SeqBlocks& blocks,
                              std::span<const TokenId> next) const {
  return prefix_cache_ ? tree_.find_tail(cache_namespace, blocks.lock, next) : PrefixTail{};
}

void KvCache::copy_block(BlockId from, BlockId to, Backend& backend, Stream& stream) const {
  for (const KvLayerCache& layer : layers_) {
    for (const Tensor& half : {layer.k, layer.v}) {
      const std::int64_t num_bytes = half.row_stride * traits(half.dtype).block_bytes;
      auto* base = static_cast<std::byte*>(half.address);
      backend.copy(base + static_cast<std::int64_t>(to) * num_bytes,
                   base + static_cast<std::int64_t>(from) * num_bytes, num_bytes, stream);
    }
  }
}

std::int64_t KvCache::make_free(std::int64_t num_blocks) {
  const std::int64_t missing = num_blocks - pool_.num_free();
  if (missing <= 0) {
    return 0;
  }
  const std::int64_t freed = tree_.evict(missing);
  PLUMB_CHECK(freed == missing, "the plan takes " + std::to_string(missing) +
                                    " blocks more than can be evicted: " + std::to_string(freed));
  return freed;
}

void KvCache::grow(std::int64_t num_tokens, SeqBlocks* blocks) {
  while (std::ssize(blocks->table) * block_size_ < num_tokens) {
    Result<BlockRef> block = pool_.take();
    PLUMB_CHECK(block.ok(), "the plan takes more blocks than are free");
    blocks->table.push_back(block.value().id());
    blocks->owned.push_back(std::move(block).value());
  }
}

void KvCache::store(std::string_view cache_namespace, std::span<const TokenId> computed,
                    const PrefixOwner& owner, SeqBlocks* blocks) {
  if (!prefix_cache_) {
    return;
  }
  PrefixLock lock = tree_.insert(cache_namespace, computed, &blocks->table, &blocks->owned, owner);
  if (!lock.empty()) {
    blocks->lock = std::move(lock);
  }
}

void KvCache::release(SeqBlocks* blocks) {
  blocks->owned.clear();
  blocks->lock = PrefixLock();
  blocks->table.clear();
}

std::int64_t KvCache::num_reclaimable(const SeqBlocks& blocks) const {
  return std::ssize(blocks.owned) + tree_.num_exclusive_blocks(blocks.lock);
}

Status KvCache::check_invariants(std::span<const SeqBlocks* const> sequences) const {
  std::int64_t num_owned = 0;
  std::int64_t num_locks = 0;
  for (const SeqBlocks* blocks : sequences) {
    num_owned += std::ssize(blocks->owned);
    num_locks += blocks->lock.empty() ? 0 : 1;
  }
  PLUMB_RETURN_IF_ERROR(pool_.check_invariants());
  PLUMB_RETURN_IF_ERROR(tree_.check_invariants(num_locks));
  if (pool_.num_free() + tree_.num_blocks() + num_owned != pool_.num_blocks()) {
    return {Code::kInternal, "blocks are lost: " + std::to_string(pool_.num_free()) + " free, " +
                                 std::to_string(tree_.num_blocks()) + " cached, " +
                                 std::to_string(num_owned) + " owned of " +
                                 std::to_string(pool_.num_blocks())};
  }
  return {};
}

}  // namespace plumb
