// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plumb {

/// How often memory was asked for between begin() and end(), by any thread of this executable.
///
/// Counts operator new in all its forms and, where the C library is glibc and no sanitizer has
/// taken its place, malloc, calloc, realloc, aligned_alloc, memalign and posix_memalign (which
/// host_allocator() is made of) instead, to which operator new leads.
/// Thread  begin() and end() from one thread.
class AllocationCount {
 public:
  static void begin();
  static std::int64_t end();
};

}  // namespace plumb
