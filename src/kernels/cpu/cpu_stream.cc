// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_stream.h"

#include <algorithm>

#include "base/check.h"

namespace plumb::cpu {

float* CpuStream::work(int worker, std::int64_t count) {
  constexpr std::int64_t kLeast = std::int64_t{64} << 10;
  Buffer& buffer = work_[static_cast<std::size_t>(worker)];
  const std::int64_t num_bytes = std::max(count * 4, kLeast);
  if (buffer.num_bytes() < num_bytes) {
    Result<Buffer> grown = host_allocator().allocate(num_bytes);
    PLUMB_CHECK(grown.ok(), grown.status().message());
    buffer = std::move(grown).value();
  }
  return static_cast<float*>(buffer.address());
}

}  // namespace plumb::cpu
