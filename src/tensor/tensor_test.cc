// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include "tensor/host_allocator.h"
#include "tensor/workspace.h"

namespace plumb {
namespace {

TEST(Tensor, rows_of_a_block_format_start_at_their_bytes) {
  std::byte bytes[4 * 36];
  const Tensor t = Tensor::dense(bytes, DType::kQ4_0, {4, 64});
  EXPECT_EQ(row_bytes(DType::kQ4_0, 64), 36);
  EXPECT_EQ(t.rows(3, 1).address, bytes + 108);
  EXPECT_EQ(t.rows(1, 2).shape, (Shape{2, 64}));
}

TEST(Tensor, heads_are_a_reshape_of_the_row) {
  float values[12] = {};
  const Tensor t = Tensor::dense(values, DType::kF32, {2, 6});
  const Tensor heads = t.reshaped({2, 3, 2});
  EXPECT_EQ(heads.row<float>(1), values + 6);
  EXPECT_EQ(to_text(heads.shape), "[2, 3, 2]");
}

TEST(Workspace, a_dry_run_counts_what_the_real_run_needs) {
  const auto step = [](Workspace& w) {
    const Tensor kept = w.allocate(DType::kF32, {3, 5});
    {
      const Workspace::Mark mark(w);
      w.allocate(DType::kF32, {100});
    }
    w.allocate(DType::kF32, {7});
    return kept;
  };
  Workspace dry = Workspace::measure();
  EXPECT_EQ(step(dry).address, nullptr);
  EXPECT_EQ(dry.peak_bytes(), 64 + 400);
  Result<Workspace> real = Workspace::create(host_allocator(), dry.peak_bytes());
  ASSERT_TRUE(real.ok());
  EXPECT_NE(step(real.value()).address, nullptr);
  EXPECT_EQ(real.value().used_bytes(), 64 + 28);
}

}  // namespace
}  // namespace plumb
