// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "tensor/device.h"

namespace plumb::cpu {

/// Packs many weights into few large regions, so that small matrices lie on huge pages too.
///
/// Ownership  must outlive its buffers. A region is given back when its last buffer is.
/// Thread     any.
class SlabAllocator final : public Allocator {
 public:
  explicit SlabAllocator(Allocator& from) : from_(from) {}

  Result<Buffer> allocate(std::int64_t num_bytes) override;
  void release(void* address, std::int64_t num_bytes) override;

 private:
  struct Slab {
    Buffer memory;
    std::int64_t used = 0;
    std::int64_t live = 0;  ///< buffers
  };

  Allocator& from_;
  Mutex mutex_;
  std::vector<Slab> slabs_ PLUMB_GUARDED_BY(mutex_);
};

}  // namespace plumb::cpu
