// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/machine_rates.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/thread.h"
#include "kernels/cpu/compute_pool.h"
#include "kernels/cpu/linear_registry.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;
constexpr int kProbeRounds = 7;
constexpr std::int64_t kComputeRounds = 200'000;  // of ten sums: about a millisecond

/// 10^9 units a second of the best round; body() gives the units of one.
template <class Body>
double best_rate(const Clock& clock, const Body& body) {
  double best = 0;
  for (int round = 0; round < kProbeRounds; ++round) {
    const Clock::TimePoint begin = clock.now();
    const auto units = static_cast<double>(body());
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    best = seconds > 0 ? std::max(best, units / seconds * 1e-9) : best;
  }
  return best;
}

/// Every thread runs the probe; operations of all, two a multiply-add.
double compute_rate(const Clock& clock, cpu::ComputePool& pool,
                    cpu::ProbeResult (*probe)(std::int64_t)) {
  return best_rate(clock, [&] {
    std::atomic<std::int64_t> count{0};
    pool.run(pool.num_threads(), 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (; begin < end; ++begin) {
        count += 2 * probe(kComputeRounds).count;
      }
    });
    return count.load();
  });
}

double read_rate(const Clock& clock, cpu::ComputePool& pool, const Buffer& memory,
                 cpu::ProbeResult (*probe)(const unsigned char*, std::int64_t)) {
  const auto* bytes = static_cast<const unsigned char*>(memory.address());
  return best_rate(clock, [&] {
    std::atomic<std::int64_t> count{0};
    pool.run(memory.num_bytes() / kMegabyte, 1, [&](std::int64_t begin, std::int64_t end, int) {
      count += probe(bytes + begin * kMegabyte, (end - begin) * kMegabyte).count;
    });
    return count.load();
  });
}

}  // namespace

Result<CpuRates> measure_cpu_rates(const CpuBackendOptions& options, std::int64_t working_set_bytes,
                                   const Clock& clock) {
  PLUMB_ASSIGN(const CpuTier tier, cpu::resolve_tier(options.tier));
  const cpu::KernelTable table = cpu::kernel_table_of(tier);
  CpuRates rates;
  rates.num_threads =
      std::max(options.num_threads > 0 ? options.num_threads : num_usable_cores(), 1);
  rates.num_bytes = std::max(working_set_bytes / kMegabyte, std::int64_t{1}) * kMegabyte;
  PLUMB_ASSIGN(const Buffer memory, host_allocator().allocate(rates.num_bytes));
  std::memset(memory.address(), 1, static_cast<std::size_t>(rates.num_bytes));
  cpu::ComputePool pool(rates.num_threads);
  rates.read_gb = read_rate(clock, pool, memory, table.probe_read);
  rates.float_gflop = compute_rate(clock, pool, table.probe_fma);
  rates.int8_gop = compute_rate(clock, pool, table.probe_dot8);
  rates.int16_gop = compute_rate(clock, pool, table.probe_dot16);
  return rates;
}

}  // namespace plumb
