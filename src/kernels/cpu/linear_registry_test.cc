// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/linear_registry.h"

#include <gtest/gtest.h>
#include <set>

#include "kernels/cpu/cpu_features.h"
#include "kernels/cpu/panel_layout.h"
#include "ops/cases.h"

namespace plumb {
namespace {

class LinearRegistryTest : public testing::TestWithParam<CpuTier> {
 protected:
  void SetUp() override {
    if (GetParam() == CpuTier::kAvx512 && !cpu::has_avx512()) {
      GTEST_SKIP() << "this processor has no AVX-512 with VNNI";
    }
    table_ = cpu::kernel_table_of(GetParam());
    registry_ = std::make_unique<cpu::LinearRegistry>(GetParam(), table_);
  }

  cpu::KernelTable table_;
  std::unique_ptr<cpu::LinearRegistry> registry_;
};

INSTANTIATE_TEST_SUITE_P(Tiers, LinearRegistryTest,
                         testing::Values(CpuTier::kAvx2, CpuTier::kAvx512),
                         [](const auto& tier) { return std::string(cpu::to_text(tier.param)); });

TEST_P(LinearRegistryTest, has_a_row_for_every_weight_format_and_one_for_any_layout) {
  std::set<std::string> names;
  for (const cpu::LinearKernel& kernel : registry_->kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_NE(kernel.supports, nullptr);
    EXPECT_NE(kernel.cost, nullptr);
    EXPECT_GT(kernel.product_rate, 0) << kernel.name;
  }
  const std::string tier(cpu::to_text(GetParam()));
  for (const DType dtype : weight_formats()) {
    EXPECT_EQ(names.count("linear." + tier + "." + std::string(to_text(dtype))), 1U)
        << to_text(dtype);
  }
  EXPECT_EQ(names.count("linear.unpacked_rows"), 1U);
  EXPECT_EQ(names.size(), weight_formats().size() + 1);
}

// A row's bits must not depend on how many rows come with it, so neither may the kernel.
TEST_P(LinearRegistryTest, chooses_the_same_kernel_for_any_number_of_rows) {
  const int rows = table_.panel_rows;
  for (const DType dtype : weight_formats()) {
    for (const std::int64_t k : {256, 4096}) {
      for (const std::int64_t n : {1, 8, 1000}) {
        const cpu::LinearKernel* to_pack =
            registry_->choose({.dtype = dtype, .n = n, .k = k}).kernel;
        ASSERT_NE(to_pack, nullptr) << to_text(dtype);
        EXPECT_EQ(to_pack->panel_rows, rows);
        for (const std::int64_t m : {1, 2, 7, 8, 64, 512, 100'000}) {
          const cpu::LinearChoice choice = registry_->choose({.dtype = dtype,
                                                              .m = m,
                                                              .n = n,
                                                              .k = k,
                                                              .layout = &cpu::panel_layout(rows),
                                                              .num_threads = 2});
          EXPECT_EQ(choice.kernel, to_pack) << to_text(dtype) << " m " << m;
          EXPECT_EQ(choice.kernel->product, table_.product[choice.kernel->type]);
          ASSERT_NE(choice.next, nullptr);
          EXPECT_EQ(choice.next->name, "linear.unpacked_rows");
          EXPECT_LT(choice.cost, choice.next_cost) << to_text(dtype) << " m " << m;
        }
      }
    }
  }
}

TEST_P(LinearRegistryTest, unpacks_rows_of_a_layout_that_it_has_no_panels_for) {
  const int other = table_.panel_rows == 8 ? 16 : 8;
  for (const WeightLayout* layout : {&rows_layout(), &cpu::panel_layout(other)}) {
    const cpu::LinearChoice choice =
        registry_->choose({.dtype = DType::kQ4_K, .n = 8, .k = 256, .layout = layout});
    EXPECT_EQ(choice.kernel->name, "linear.unpacked_rows");
    EXPECT_EQ(choice.kernel->product, nullptr);
    EXPECT_EQ(choice.next, nullptr);
  }
}

TEST_P(LinearRegistryTest, supports_neither_formats_without_kernels_nor_broken_blocks) {
  EXPECT_EQ(registry_->choose({.dtype = DType::kI32, .n = 8, .k = 256}).kernel, nullptr);
  EXPECT_EQ(registry_->choose({.dtype = DType::kQ4_K, .n = 8, .k = 128}).kernel, nullptr);
}

// n 1600, k 1000: F32 panels of 6.4 MB at 13 GB/s; 1.6e6 multiply-adds a row at 28 or 60 a ns.
TEST_P(LinearRegistryTest, predicts_the_larger_of_reading_and_computing_shared_by_the_threads) {
  const auto cost = [&](std::int64_t m, int threads) {
    return registry_
        ->choose({.dtype = DType::kF32, .m = m, .n = 1600, .k = 1000, .num_threads = threads})
        .cost;
  };
  const double rate = GetParam() == CpuTier::kAvx512 ? 60e3 : 28e3;
  EXPECT_DOUBLE_EQ(cost(1, 1), 6.4e6 / 13e3);
  EXPECT_DOUBLE_EQ(cost(1, 4), 6.4e6 / 13e3 / 4);
  EXPECT_DOUBLE_EQ(cost(1000, 1), 1.6e9 / rate);
}

TEST(ResolveTier, gives_the_widest_tier_that_the_processor_has) {
  const CpuTier widest = cpu::has_avx512() ? CpuTier::kAvx512 : CpuTier::kAvx2;
  EXPECT_EQ(cpu::resolve_tier(CpuTier::kAuto).value(), widest);
  EXPECT_EQ(cpu::resolve_tier(CpuTier::kAvx2).value(), CpuTier::kAvx2);
  EXPECT_EQ(cpu::resolve_tier(CpuTier::kAvx512).ok(), cpu::has_avx512());
}

}  // namespace
}  // namespace plumb
