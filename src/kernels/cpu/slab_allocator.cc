// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/slab_allocator.h"

#include <algorithm>

namespace plumb::cpu {
namespace {

constexpr std::int64_t kSlabBytes = std::int64_t{32} << 20;
constexpr std::int64_t kAlignment = 64;

}  // namespace

Result<Buffer> SlabAllocator::allocate(std::int64_t num_bytes) {
  const std::int64_t size = (num_bytes + kAlignment - 1) / kAlignment * kAlignment;
  const MutexLock lock(mutex_);
  if (slabs_.empty() || slabs_.back().used + size > slabs_.back().memory.num_bytes()) {
    PLUMB_ASSIGN(Buffer memory, from_.allocate(std::max(size, kSlabBytes)));
    slabs_.push_back({std::move(memory), 0, 0});
  }
  Slab& slab = slabs_.back();
  void* address = static_cast<std::byte*>(slab.memory.address()) + slab.used;
  slab.used += size;
  ++slab.live;
  return Buffer(this, address, num_bytes);
}

void SlabAllocator::release(void* address, std::int64_t) {
  const MutexLock lock(mutex_);
  const auto holds = [address](const Slab& slab) {
    const auto* begin = static_cast<const std::byte*>(slab.memory.address());
    const auto* p = static_cast<const std::byte*>(address);
    return p >= begin && p < begin + slab.memory.num_bytes();
  };
  const auto slab = std::find_if(slabs_.begin(), slabs_.end(), holds);
  if (slab != slabs_.end() && --slab->live == 0) {
    slabs_.erase(slab);
  }
}

}  // namespace plumb::cpu
