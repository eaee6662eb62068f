// SPDX-License-Identifier: Apache-2.0
// read_bandwidth BYTES THREADS SECONDS: reads that many bytes over and over with that many threads
// and prints the best pass in bytes a second. What fits into a cache is read from there, as weights
// of that size would be. Built and run by compare; not part of Plumb.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <omp.h>

namespace {

using Wide = std::uint64_t __attribute__((vector_size(64)));
constexpr std::size_t kUnrolled = 8;  // independent sums: additions do not wait for each other

// Sum of the lanes, so that no load can be left out. `count` is a multiple of kUnrolled.
Wide sum_of(const Wide* values, std::size_t count) {
  Wide sums[kUnrolled] = {};
  for (std::size_t i = 0; i < count; i += kUnrolled) {
    for (std::size_t k = 0; k < kUnrolled; ++k) {
      sums[k] += values[i + k];
    }
  }
  for (std::size_t k = 1; k < kUnrolled; ++k) {
    sums[0] += sums[k];
  }
  return sums[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: read_bandwidth BYTES THREADS SECONDS\n");
    return 2;
  }
  const int threads = std::atoi(argv[2]);
  const std::size_t step = sizeof(Wide) * kUnrolled;
  const std::size_t share =
      std::strtoull(argv[1], nullptr, 10) / static_cast<std::size_t>(threads) / step * step;
  if (threads < 1 || share == 0) {
    std::fprintf(stderr, "read_bandwidth: %s bytes are too few for %s threads\n", argv[1], argv[2]);
    return 2;
  }
  const std::size_t total = share * static_cast<std::size_t>(threads);
  const auto memory =
      std::unique_ptr<void, decltype(&std::free)>(std::aligned_alloc(step, total), &std::free);
  if (memory == nullptr) {
    std::fprintf(stderr, "read_bandwidth: no memory for %zu bytes\n", total);
    return 1;
  }
  auto* const values = static_cast<Wide*>(memory.get());
  const double end = omp_get_wtime() + std::atof(argv[3]);
  double best = 0;
  std::uint64_t check = 0;
  bool is_filled = false;
  while (omp_get_wtime() < end || best == 0) {
    double begin = 0;
#pragma omp parallel num_threads(threads) reduction(+ : check)
    {
      Wide* const mine =
          values + static_cast<std::size_t>(omp_get_thread_num()) * (share / sizeof(Wide));
      if (!is_filled) {  // by the thread that reads it, so that it lies in that thread's memory
        for (std::size_t i = 0; i < share / sizeof(Wide); ++i) {
          mine[i] = Wide{} + i;
        }
      }
#pragma omp barrier
#pragma omp master
      begin = omp_get_wtime();
#pragma omp barrier
      const Wide sum = sum_of(mine, share / sizeof(Wide));
      for (std::size_t k = 0; k < sizeof(Wide) / sizeof(sum[0]); ++k) {
        check += sum[k];
      }
    }
    const double rate = static_cast<double>(total) / (omp_get_wtime() - begin);
    if (is_filled && rate > best) {
      best = rate;
    }
    is_filled = true;
  }
  std::printf("{\"bytes\": %zu, \"bytes_per_s\": %.0f, \"check\": %llu}\n", total, best,
              static_cast<unsigned long long>(check % 2));
  return 0;
}
