// SPDX-License-Identifier: Apache-2.0
#include "engine/block_copier.h"

#include "base/check.h"
#include "tensor/dtype.h"

namespace plumb {

BlockCopier::BlockCopier(std::span<const KvLayerCache> layers, Backend& backend, Stream& stream)
    : backend_(backend), stream_(stream) {
  for (const KvLayerCache& layer : layers) {
    for (const Tensor* tensor : {&layer.k, &layer.v}) {
      if (tensor->address != nullptr) {
        const std::int64_t bytes = tensor->row_stride * traits(tensor->dtype).block_bytes;
        planes_.push_back({tensor->as<std::byte>(), bytes});
        block_bytes_ += bytes;
      }
    }
  }
}

Status BlockCopier::synchronize() {
  PLUMB_RETURN_IF_ERROR(stream_.synchronize());
  return stream_.poll();
}

void BlockCopier::to_host(BlockId block, std::span<std::byte> payload) {
  PLUMB_CHECK(std::ssize(payload) == block_bytes_, "a payload of another size");
  std::byte* to = payload.data();
  for (const Plane& plane : planes_) {
    backend_.copy(to, plane.of(block), plane.block_bytes, stream_);
    to += plane.block_bytes;
  }
}

void BlockCopier::to_device(std::span<const std::byte> payload, BlockId block) {
  PLUMB_CHECK(std::ssize(payload) == block_bytes_, "a payload of another size");
  const std::byte* from = payload.data();
  for (const Plane& plane : planes_) {
    backend_.copy(plane.of(block), from, plane.block_bytes, stream_);
    from += plane.block_bytes;
  }
}

}  // namespace plumb
