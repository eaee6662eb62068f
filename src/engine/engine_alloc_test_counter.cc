// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_alloc_test_counter.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLUMB_COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define PLUMB_COUNTS_MALLOC 0
#endif
#endif
#ifndef PLUMB_COUNTS_MALLOC
#ifdef __GLIBC__
#define PLUMB_COUNTS_MALLOC 1
#else
#define PLUMB_COUNTS_MALLOC 0
#endif
#endif

namespace plumb {
namespace {

std::atomic<bool> is_counting{false};        // NOLINT(*-avoid-non-const-global-variables)
std::atomic<std::int64_t> num_allocated{0};  // NOLINT(*-avoid-non-const-global-variables)

void count_allocation() {
  if (is_counting.load(std::memory_order_relaxed)) {
    num_allocated.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

void AllocationCount::begin() {
  num_allocated = 0;
  is_counting = true;
}

std::int64_t AllocationCount::end() {
  is_counting = false;
  return num_allocated;
}

}  // namespace plumb

#if PLUMB_COUNTS_MALLOC

// The names under which glibc offers what these replace; free() stays its own.
extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT(*-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT(*-reserved-identifier)
void* __libc_realloc(void* memory, std::size_t size);            // NOLINT(*-reserved-identifier)
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT(*-reserved-identifier)

void* malloc(std::size_t size) {
  plumb::count_allocation();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  plumb::count_allocation();
  return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) {
  plumb::count_allocation();
  return __libc_realloc(memory, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  plumb::count_allocation();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  plumb::count_allocation();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  plumb::count_allocation();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

#else

namespace {

void* counted(void* memory) {
  plumb::count_allocation();
  if (memory == nullptr) {
    __builtin_trap();  // the program cannot go on
  }
  return memory;
}

void* counted_aligned(std::size_t size, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(to, (size + to - 1) / to * to));
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(std::malloc(size == 0 ? 1 : size));
}

void* operator new[](std::size_t size) {
  return counted(std::malloc(size == 0 ? 1 : size));
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_aligned(size, alignment);
}

void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted_aligned(size, alignment);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#endif
