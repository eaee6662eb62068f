// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/meta/meta_backend.h"
#include "ops/cost_stream.h"
#include "ops/op_context.h"

namespace plumb {
namespace {

TEST(MetaBackend, offers_every_op) {
  EXPECT_TRUE(missing_ops(make_meta_backend()->ops()).empty());
}

TEST(MetaBackend, a_dry_run_yields_workspace_bytes_and_costs_without_memory) {
  const auto backend = make_meta_backend();
  Workspace workspace = Workspace::measure();
  CostStream stream;
  OpContext op(backend->ops(), workspace, stream);
  const Result<Weight> table = backend->pack({DType::kQ4_K, 1000, 256, {}});
  ASSERT_TRUE(table.ok());
  const Tensor ids = Tensor::dense(nullptr, DType::kI32, {5});
  const Tensor norm = Tensor::dense(nullptr, DType::kF32, {256});
  const Tensor x = op.embedding(ids, table.value());
  const Tensor h = op.rms_norm(x, norm, 1e-6F);
  const Tensor logits = op.linear(h, table.value());
  EXPECT_EQ(logits.shape, (Shape{5, 1000}));
  EXPECT_EQ(logits.address, nullptr);
  EXPECT_EQ(workspace.used_bytes(), 2 * 5 * 256 * 4 + 5 * 1000 * 4);
  // The scratch of the product begins at the next multiple of 64.
  EXPECT_EQ(workspace.peak_bytes(), 2 * 5 * 256 * 4 + 20032 + linear_scratch_bytes(5, 256));
  ASSERT_EQ(stream.costs().size(), 3U);
  EXPECT_EQ(stream.costs()[2].op, "linear");
  EXPECT_EQ(stream.costs()[2].cost.flops, 2 * 5 * 1000 * 256);
  EXPECT_EQ(stream.costs()[2].cost.bytes_read, 5 * 256 * 4 + 1000 * 144);
}

TEST(MetaBackend, the_allocator_counts_what_lives_and_the_peak) {
  const auto backend = make_meta_backend();
  {
    const Result<Buffer> a = backend->allocator().allocate(100);
    const Result<Buffer> b = backend->allocator().allocate(std::int64_t{1} << 50);
    EXPECT_EQ(a.value().address(), nullptr);
    EXPECT_EQ(backend->counters().used_bytes(), 100 + (std::int64_t{1} << 50));
  }
  EXPECT_EQ(backend->counters().used_bytes(), 0);
  EXPECT_EQ(backend->counters().peak_bytes(), 100 + (std::int64_t{1} << 50));
}

TEST(MetaBackend, an_op_on_another_stream_only_checks_its_arguments) {
  class OtherStream : public Stream {
    Status poll() override { return {}; }

    Status synchronize() override { return {}; }
  } stream;

  const auto backend = make_meta_backend();
  const Tensor x = Tensor::dense(nullptr, DType::kF32, {2, 4});
  backend->ops().glu(Glu{x, x, x}, stream);
}

TEST(MetaBackendDeath, a_call_that_does_not_fit_its_contract_stops) {
  const auto backend = make_meta_backend();
  CostStream stream;
  const Tensor x = Tensor::dense(nullptr, DType::kF32, {2, 4});
  const Tensor y = Tensor::dense(nullptr, DType::kF32, {3, 4});
  EXPECT_DEATH(backend->ops().glu(Glu{x, x, y}, stream),
               "glu: y \\[3, 4\\], expected \\[T=2, I=4\\]");
}

}  // namespace
}  // namespace plumb
