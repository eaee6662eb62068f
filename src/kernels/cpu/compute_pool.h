// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/thread.h"

namespace plumb::cpu {

/// Threads that share loops. The caller of run() is worker 0; each worker starts with its own
/// contiguous part of the items (the same part on every call, for page and cache locality) and then
/// takes pieces of the parts that others have not begun, so that a preempted worker delays nobody.
///
/// Workers wait for the next loop by spinning about 20 microseconds, then they sleep.
/// Thread  run() belongs to one thread; loops do not nest.
/// Cost    about 1 microsecond a loop while the workers spin.
class ComputePool {
 public:
  /// Requires num_threads >= 1, the caller included.
  explicit ComputePool(int num_threads);
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  int num_threads() const { return num_threads_; }

  /// Calls body(begin, end, worker) for pieces of [0, count) of about `grain` items, in any order,
  /// and returns when all are done. body must not throw.
  template <class Body>
  void run(std::int64_t count, std::int64_t grain, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_job({[](void* context, std::int64_t begin, std::int64_t end, int worker) {
               (*static_cast<Plain*>(context))(begin, end, worker);
             },
             const_cast<void*>(static_cast<const void*>(&body)), count, grain});
  }

 private:
  struct Job {
    void (*call)(void*, std::int64_t, std::int64_t, int) = nullptr;
    void* context = nullptr;
    std::int64_t count = 0;
    std::int64_t grain = 1;
  };

  // One worker's part: epoch (28 bits) | next piece (18) | end (18). A claim succeeds only under
  // the epoch that its worker has seen, so a late worker cannot touch a later loop.
  struct alignas(64) Part {
    std::atomic<std::uint64_t> bits{0};
  };

  void run_job(Job job);
  void worker_loop(int worker);
  void work(std::uint32_t epoch, int worker);
  bool claim(Part& part, std::uint32_t epoch, std::int64_t* piece);
  void wait_for_pieces(std::uint32_t num_pieces);

  const int num_threads_;
  std::unique_ptr<Part[]> parts_;
  Job job_;  ///< read after a successful claim only
  std::uint32_t num_pieces_ = 0;
  std::uint32_t next_epoch_ = 0;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  alignas(64) std::atomic<std::uint32_t> num_done_{0};
  std::vector<Thread> threads_;
};

}  // namespace plumb::cpu
