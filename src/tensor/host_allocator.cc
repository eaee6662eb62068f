// SPDX-License-Identifier: Apache-2.0
#include "tensor/host_allocator.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace plumb {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

std::int64_t rounded(std::int64_t num_bytes, std::int64_t to) {
  return (num_bytes + to - 1) / to * to;
}

class HostAllocator final : public Allocator {
 public:
  Result<Buffer> allocate(std::int64_t num_bytes) override {
    if (num_bytes == 0) {
      return Buffer();
    }
    const bool huge = num_bytes >= kHugePage;
    const std::int64_t alignment = huge ? kHugePage : 64;
    const std::int64_t size = rounded(num_bytes, alignment);
    void* address =
        std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(size));
    if (address == nullptr) {
      return Status{Code::kResourceExhausted,
                    "cannot allocate " + std::to_string(num_bytes) + " bytes of host memory"};
    }
    if (huge) {
      ::madvise(address, static_cast<std::size_t>(size), MADV_HUGEPAGE);
    }
    return Buffer(this, address, num_bytes);
  }

  void release(void* address, std::int64_t) override { std::free(address); }
};

}  // namespace

void discard_host_memory(void* address, std::int64_t num_bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + static_cast<std::uintptr_t>(num_bytes)) / page * page;
  if (first < last) {
    ::madvise(static_cast<std::byte*>(address) + (first - begin), last - first, MADV_DONTNEED);
  }
}

void trim_host_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

Allocator& host_allocator() {
  static HostAllocator allocator;
  return allocator;
}

}  // namespace plumb
