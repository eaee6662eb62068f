// SPDX-License-Identifier: Apache-2.0
#include "engine/block_copier.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/dtype.h"

namespace plumb {
namespace {

constexpr std::int64_t kMarkBytes = 8;  // one says it, the rest keeps the next payload aligned

}  // namespace

BlockCopier::BlockCopier(const KvCache& cache, Backend& backend, Stream& stream)
    : backend_(backend), stream_(stream), has_mark_(cache.window() > 0) {
  for (std::size_t i = 0; i < cache.layers().size(); ++i) {
    const KvLayerCache& layer = cache.layers()[i];
    for (const Tensor* tensor : {&layer.k, &layer.v}) {
      if (tensor->address != nullptr) {
        const std::int64_t bytes = tensor->row_stride * traits(tensor->dtype).block_bytes;
        planes_.push_back({tensor->as<std::byte>(), bytes, cache.is_windowed(i)});
        block_bytes_ += bytes;
      }
    }
  }
  block_bytes_ += has_mark_ ? kMarkBytes : 0;
}

std::int64_t BlockCopier::payload_bytes(const KvLayout& layout) {
  return layout.bytes_per_block() + (layout.window() > 0 ? kMarkBytes : 0);
}

bool BlockCopier::is_whole(std::span<const std::byte> payload) const {
  return !has_mark_ || payload[payload.size() - kMarkBytes] != std::byte{0};
}

Status BlockCopier::synchronize() {
  PLUMB_RETURN_IF_ERROR(stream_.synchronize());
  return stream_.poll();
}

void BlockCopier::to_host(BlockId block, std::optional<BlockId> window,
                          std::span<std::byte> payload) {
  PLUMB_CHECK(std::ssize(payload) == block_bytes_, "a payload of another size");
  std::byte* to = payload.data();
  for (const Plane& plane : planes_) {
    if (!plane.is_windowed || window) {
      const BlockId source = plane.is_windowed ? *window : block;
      backend_.copy(to, plane.of(source), plane.block_bytes, stream_);
    } else {
      std::fill_n(to, plane.block_bytes, std::byte{0});
    }
    to += plane.block_bytes;
  }
  if (has_mark_) {
    std::fill_n(to, kMarkBytes, std::byte{0});
    *to = window ? std::byte{1} : std::byte{0};
  }
}

void BlockCopier::to_device(std::span<const std::byte> payload, BlockId block,
                            std::optional<BlockId> window) {
  PLUMB_CHECK(std::ssize(payload) == block_bytes_, "a payload of another size");
  const std::byte* from = payload.data();
  for (const Plane& plane : planes_) {
    if (!plane.is_windowed || window) {
      const BlockId target = plane.is_windowed ? *window : block;
      backend_.copy(plane.of(target), from, plane.block_bytes, stream_);
    }
    from += plane.block_bytes;
  }
}

}  // namespace plumb
