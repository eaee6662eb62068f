// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_stream.h"

#include <algorithm>

#include "base/check.h"

namespace plumb::cpu {
namespace {

/// Grows by half at least, so that a context that lengthens token by token seldom allocates.
float* grown(Buffer* buffer, std::int64_t count) {
  constexpr std::int64_t kLeast = std::int64_t{64} << 10;
  const std::int64_t num_bytes = count * 4;
  if (buffer->num_bytes() < num_bytes || buffer->num_bytes() == 0) {
    const std::int64_t size = std::max({num_bytes, buffer->num_bytes() / 2 * 3, kLeast});
    Result<Buffer> memory = host_allocator().allocate(size);
    PLUMB_CHECK(memory.ok(), memory.status().message());
    *buffer = std::move(memory).value();
  }
  return static_cast<float*>(buffer->address());
}

}  // namespace

float* CpuStream::work(int worker, std::int64_t count) {
  return grown(&work_[static_cast<std::size_t>(worker)], count);
}

float* CpuStream::shared_work(std::int64_t count) {
  return grown(&shared_work_, count);
}

}  // namespace plumb::cpu
