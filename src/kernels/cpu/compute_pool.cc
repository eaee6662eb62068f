// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/compute_pool.h"

#include <algorithm>
#include <string>
#include <x86intrin.h>

#include "base/check.h"

namespace plumb::cpu {
namespace {

constexpr std::uint64_t kSpinTicks = 60'000;  // time-stamp ticks: about 20 microseconds
constexpr std::uint32_t kStop = ~std::uint32_t{0};
constexpr std::uint32_t kEpochMask = (std::uint32_t{1} << 28) - 1;
constexpr std::int64_t kMaxPieces = (std::int64_t{1} << 18) - 1;

constexpr std::uint64_t part_bits(std::uint32_t epoch, std::int64_t next, std::int64_t end) {
  return (std::uint64_t{epoch} << 36) | (static_cast<std::uint64_t>(next) << 18) |
         static_cast<std::uint64_t>(end);
}

// Waits until the value differs from `old`: true, or false when the spin time is over.
bool spin_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const std::uint64_t start = __rdtsc();
  do {
    for (int i = 0; i < 8; ++i) {
      if (value.load(std::memory_order_acquire) != old) {
        return true;
      }
      _mm_pause();
    }
  } while (__rdtsc() - start < kSpinTicks);
  return false;
}

}  // namespace

ComputePool::ComputePool(int num_threads)
    : num_threads_(num_threads), parts_(new Part[static_cast<std::size_t>(num_threads)]) {
  PLUMB_CHECK(num_threads >= 1, std::to_string(num_threads));
  for (int worker = 1; worker < num_threads; ++worker) {
    threads_.emplace_back("compute" + std::to_string(worker),
                          [this, worker] { worker_loop(worker); });
  }
}

ComputePool::~ComputePool() {
  epoch_.store(kStop);
  epoch_.notify_all();
}

void ComputePool::run_job(Job job) {
  if (job.count <= 0) {
    return;
  }
  job.grain = std::max({job.grain, (job.count + kMaxPieces - 1) / kMaxPieces, std::int64_t{1}});
  const std::int64_t pieces = (job.count + job.grain - 1) / job.grain;
  if (num_threads_ == 1 || pieces == 1) {
    job.call(job.context, 0, job.count, 0);
    return;
  }
  job_ = job;
  num_pieces_ = static_cast<std::uint32_t>(pieces);
  next_epoch_ = (next_epoch_ + 1) & kEpochMask;
  num_done_.store(0, std::memory_order_relaxed);
  for (int w = 0; w < num_threads_; ++w) {
    parts_[static_cast<std::size_t>(w)].bits.store(
        part_bits(next_epoch_, pieces * w / num_threads_, pieces * (w + 1) / num_threads_),
        std::memory_order_release);
  }
  epoch_.store(next_epoch_);  // sequentially consistent: a sleeper must see it or be woken
  epoch_.notify_all();
  work(next_epoch_, 0);
  wait_for_pieces(num_pieces_);
}

void ComputePool::wait_for_pieces(std::uint32_t num_pieces) {
  for (;;) {
    const std::uint32_t done = num_done_.load(std::memory_order_acquire);
    if (done == num_pieces) {
      return;
    }
    if (!spin_while(num_done_, done)) {
      num_done_.wait(done);
    }
  }
}

void ComputePool::worker_loop(int worker) {
  std::uint32_t seen = 0;
  for (;;) {
    if (!spin_while(epoch_, seen)) {
      epoch_.wait(seen);
    }
    const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (epoch == kStop) {
      return;
    }
    if (epoch != seen) {
      seen = epoch;
      work(epoch, worker);
    }
  }
}

bool ComputePool::claim(Part& part, std::uint32_t epoch, std::int64_t* piece) {
  std::uint64_t bits = part.bits.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t next = (bits >> 18) & static_cast<std::uint64_t>(kMaxPieces);
    if (bits >> 36 != epoch || next >= (bits & static_cast<std::uint64_t>(kMaxPieces))) {
      return false;
    }
    if (part.bits.compare_exchange_weak(bits, bits + (std::uint64_t{1} << 18),
                                        std::memory_order_acq_rel, std::memory_order_acquire)) {
      *piece = static_cast<std::int64_t>(next);
      return true;
    }
  }
}

void ComputePool::work(std::uint32_t epoch, int worker) {
  for (int i = 0; i < num_threads_; ++i) {
    Part& part = parts_[static_cast<std::size_t>((worker + i) % num_threads_)];
    std::int64_t piece = 0;
    while (claim(part, epoch, &piece)) {
      const std::int64_t begin = piece * job_.grain;
      const std::uint32_t num_pieces = num_pieces_;  // after the last piece run() may go on
      job_.call(job_.context, begin, std::min(begin + job_.grain, job_.count), worker);
      if (num_done_.fetch_add(1) + 1 == num_pieces) {
        num_done_.notify_all();
      }
    }
  }
}

}  // namespace plumb::cpu
