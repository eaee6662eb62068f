// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <gtest/gtest.h>

#include "kernels/ref/ref_backend.h"

namespace plumb {
namespace {

TEST(RefBackend, offers_every_op) {
  const auto backend = make_ref_backend();
  EXPECT_TRUE(missing_ops(backend->ops()).empty());
  EXPECT_EQ(backend->name(), "ref");
}

TEST(RefBackend, packing_refers_to_the_bytes_and_gives_rows_back) {
  const auto backend = make_ref_backend();
  const std::array<float, 6> values{1, 2, 3, 4, 5, 6};
  const Result<Weight> weight =
      backend->pack({DType::kF32, 2, 3, std::as_bytes(std::span(values))});
  ASSERT_TRUE(weight.ok());
  EXPECT_TRUE(weight.value().is_mapped());
  std::array<float, 3> row{};
  weight.value().unpack_row(1, row.data());
  EXPECT_EQ(row, (std::array<float, 3>{4, 5, 6}));
}

TEST(RefBackend, packing_rejects_what_is_no_matrix_of_weights) {
  const auto backend = make_ref_backend();
  const std::array<std::byte, 36> bytes{};
  const auto pack = [&](DType dtype, std::int64_t rows, std::int64_t cols) {
    return backend->pack({dtype, rows, cols, bytes}).status().code();
  };
  EXPECT_EQ(pack(DType::kQ4_0, 2, 32), Code::kOk);
  EXPECT_EQ(pack(DType::kQ4_0, 3, 32), Code::kInvalidArgument);
  EXPECT_EQ(pack(DType::kQ4_0, 2, 33), Code::kInvalidArgument);
  EXPECT_EQ(pack(DType::kI32, 3, 3), Code::kUnsupported);
  EXPECT_EQ(pack(DType::kF32, -3, -3), Code::kInvalidArgument);
  EXPECT_EQ(pack(DType::kF32, 0, 3), Code::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
