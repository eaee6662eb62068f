// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/machine_rates.h"

#include <gtest/gtest.h>
#include <vector>

#include "kernels/cpu/cpu_features.h"
#include "kernels/cpu/linear_registry.h"
#include "support/ticking_clock.h"

namespace plumb {
namespace {

class Probes : public testing::TestWithParam<CpuTier> {
 protected:
  void SetUp() override {
    if (GetParam() == CpuTier::kAvx512 && !cpu::has_avx512()) {
      GTEST_SKIP() << "this processor has no AVX-512 with VNNI";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Tiers, Probes, testing::Values(CpuTier::kAvx2, CpuTier::kAvx512),
                         [](const auto& tier) { return std::string(cpu::to_text(tier.param)); });

// The sums show that as much was computed as is said.
TEST_P(Probes, compute_what_they_count) {
  const cpu::KernelTable table = cpu::kernel_table_of(GetParam());
  const std::int64_t lanes = table.panel_rows;
  const cpu::ProbeResult one = table.probe_fma(1);  // 0 * 0.5 + 1 in every lane of every sum
  EXPECT_EQ(one.count, 10 * lanes);
  EXPECT_EQ(one.sum, static_cast<float>(10 * lanes));
  const cpu::ProbeResult two = table.probe_fma(2);  // 1 * 0.5 + 1
  EXPECT_EQ(two.count, 20 * lanes);
  EXPECT_EQ(two.sum, 1.5F * static_cast<float>(10 * lanes));
  const cpu::ProbeResult dot8 = table.probe_dot8(3);
  EXPECT_EQ(dot8.count, 3 * 10 * lanes * 4);
  const cpu::ProbeResult dot16 = table.probe_dot16(3);  // 257 * 257 twice a lane
  EXPECT_EQ(dot16.count, 3 * 10 * lanes * 2);
  EXPECT_EQ(dot16.sum, static_cast<float>(3 * 10 * lanes * 2 * 257 * 257));
}

TEST_P(Probes, read_every_byte_once) {
  const cpu::KernelTable table = cpu::kernel_table_of(GetParam());
  std::vector<unsigned char> bytes(std::size_t{1} << 16, 0);
  EXPECT_EQ(table.probe_read(bytes.data(), std::ssize(bytes)).count, 1 << 16);
  EXPECT_EQ(table.probe_read(bytes.data(), std::ssize(bytes)).sum, 0.0F);
  for (const std::size_t at : {std::size_t{0}, std::size_t{4096}, bytes.size() - 4}) {
    bytes[at] = 1;  // the lowest byte of a dword: the sums are 1 where exactly one is read
    EXPECT_EQ(table.probe_read(bytes.data(), std::ssize(bytes)).sum, 1.0F) << at;
    bytes[at] = 0;
  }
}

// With 1 ms a round: 200,000 rounds of ten sums on two threads, two operations each.
TEST(CpuRatesTest, divide_what_was_done_by_the_time_it_took) {
  const TickingClock clock(std::chrono::milliseconds(1));
  const CpuRates rates =
      measure_cpu_rates({.num_threads = 2, .tier = CpuTier::kAvx2}, 5'000'000, clock).value();
  EXPECT_EQ(rates.num_threads, 2);
  EXPECT_EQ(rates.num_bytes, 4 << 20);
  EXPECT_DOUBLE_EQ(rates.read_gb, (4 << 20) / 1e-3 * 1e-9);
  EXPECT_DOUBLE_EQ(rates.float_gflop, 2.0 * 2 * 200'000 * 10 * 8 / 1e-3 * 1e-9);
  EXPECT_DOUBLE_EQ(rates.int8_gop, 4 * rates.float_gflop);
  EXPECT_DOUBLE_EQ(rates.int16_gop, 2 * rates.float_gflop);
}

}  // namespace
}  // namespace plumb
