// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/compute_pool.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/linear_registry.h"
#include "tensor/host_allocator.h"

namespace plumb::cpu {

/// The compute threads and the kernels that the ops of this back end run with.
class CpuStream final : public HostStream {
 public:
  CpuStream(const KernelTable& kernels, const LinearRegistry& linear_kernels,
            std::unique_ptr<ComputePool> pool)
      : kernels_(kernels),
        linear_kernels_(linear_kernels),
        pool_(std::move(pool)),
        work_(static_cast<std::size_t>(pool_->num_threads())) {}

  const KernelTable& kernels() const { return kernels_; }

  const LinearRegistry& linear_kernels() const { return linear_kernels_; }

  ComputePool& pool() { return *pool_; }

  /// Memory of one worker for `count` floats, 64-byte aligned, kept between calls.
  /// Cost an allocation when it grows: attention needs a fixed amount for a head dimension.
  float* work(int worker, std::int64_t count);
  /// As work(), for results that workers hand to each other.
  float* shared_work(std::int64_t count);

  /// First item of each sequence of an attention call.
  std::vector<std::int64_t>& item_begins() { return item_begins_; }

 private:
  const KernelTable& kernels_;
  const LinearRegistry& linear_kernels_;
  std::unique_ptr<ComputePool> pool_;
  std::vector<Buffer> work_;
  Buffer shared_work_;
  std::vector<std::int64_t> item_begins_;
};

/// The stream of an op call of this back end.
inline CpuStream& cpu_stream(Stream& stream) {
  return static_cast<CpuStream&>(stream);
}

}  // namespace plumb::cpu
