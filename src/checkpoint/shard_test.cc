// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard.h"

#include <gtest/gtest.h>
#include <random>

#include "tensor/format.h"

namespace plumb {
namespace {

/// A weight with its bytes.
struct Weight {
  std::vector<std::byte> bytes;
  RawTensor tensor;
};

Weight random_weight(DType dtype, const Shape& shape, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& v : values) {
    v = normal(rng);
  }
  Weight w;
  w.bytes.resize(static_cast<std::size_t>(row_bytes(dtype, shape.num_elements())));
  quantize(dtype, values.data(), shape.num_elements(), w.bytes.data());
  w.tensor = {"w", dtype, shape, w.bytes, 4096};
  return w;
}

std::vector<float> expanded(const RawTensor& t) {
  std::vector<float> values(static_cast<std::size_t>(t.shape.num_elements()));
  dequantize(t.dtype, t.bytes.data(), t.shape.num_elements(), values.data());
  return values;
}

// y = W x for [N, K].
std::vector<double> product(const RawTensor& w, const std::vector<float>& x, std::int64_t begin) {
  const std::vector<float> values = expanded(w);
  std::vector<double> y;
  for (std::int64_t r = 0; r < w.shape[0]; ++r) {
    double sum = 0;
    for (std::int64_t k = 0; k < w.shape[1]; ++k) {
      sum += static_cast<double>(values[static_cast<std::size_t>(r * w.shape[1] + k)]) *
             static_cast<double>(x[static_cast<std::size_t>(begin + k)]);
    }
    y.push_back(sum);
  }
  return y;
}

class ShardFormats : public testing::TestWithParam<DType> {};

TEST_P(ShardFormats, column_parts_follow_each_other_and_make_the_whole) {
  const Weight w = random_weight(GetParam(), {12, 1024}, 1);
  for (const int size : {1, 2, 3, 4}) {
    std::vector<std::byte> joined;
    for (int rank = 0; rank < size; ++rank) {
      const Result<TensorShard> part =
          shard(w.tensor, {ShardKind::kColumns, rank, size, /*unit=*/1});
      ASSERT_TRUE(part.ok()) << part.status().message();
      EXPECT_TRUE(part.value().is_view());
      EXPECT_EQ(part.value().begin, rank * 12 / size);
      EXPECT_EQ(part.value().tensor.shape, (Shape{12 / size, 1024}));
      EXPECT_EQ(part.value().tensor.file_offset, 4096 + joined.size());
      joined.insert(joined.end(), part.value().tensor.bytes.begin(),
                    part.value().tensor.bytes.end());
    }
    EXPECT_EQ(joined, w.bytes);
  }
}

TEST_P(ShardFormats, the_products_of_row_parts_add_up_to_the_whole) {
  const Weight w = random_weight(GetParam(), {5, 1024}, 2);
  std::vector<float> x(1024);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(static_cast<int>(i % 7) - 3);
  }
  const std::vector<double> whole = product(w.tensor, x, 0);
  for (const int size : {1, 2, 4}) {
    std::vector<double> sum(5, 0.0);
    for (int rank = 0; rank < size; ++rank) {
      const Result<TensorShard> part = shard(w.tensor, {ShardKind::kRows, rank, size, 1});
      ASSERT_TRUE(part.ok()) << part.status().message();
      EXPECT_EQ(part.value().tensor.shape, (Shape{5, 1024 / size}));
      EXPECT_EQ(part.value().begin, rank * 1024 / size);
      const std::vector<double> y = product(part.value().tensor, x, part.value().begin);
      for (std::size_t r = 0; r < sum.size(); ++r) {
        sum[r] += y[r];
      }
    }
    for (std::size_t r = 0; r < sum.size(); ++r) {
      EXPECT_NEAR(sum[r], whole[r], 1e-9 * (1.0 + std::abs(whole[r])));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ShardFormats,
                         testing::Values(DType::kF32, DType::kBF16, DType::kQ4_1, DType::kQ8_0,
                                         DType::kQ4_K, DType::kQ6_K, DType::kMXFP4),
                         [](const auto& p) { return std::string(to_text(p.param)); });

TEST(Shard, vocabulary_rows_may_be_uneven_and_even_absent) {
  const Weight w = random_weight(DType::kF32, {5, 4}, 3);
  std::vector<std::int64_t> rows;
  std::vector<std::byte> joined;
  for (int rank = 0; rank < 4; ++rank) {
    const TensorShard part = shard(w.tensor, {ShardKind::kVocab, rank, 4, 1}).value();
    rows.push_back(part.tensor.shape[0]);
    joined.insert(joined.end(), part.tensor.bytes.begin(), part.tensor.bytes.end());
  }
  EXPECT_EQ(rows, (std::vector<std::int64_t>{2, 2, 1, 0}));
  EXPECT_EQ(joined, w.bytes);
}

TEST(Shard, each_matrix_of_a_stack_is_divided) {
  const Weight w = random_weight(DType::kF32, {3, 4, 6}, 4);
  const std::vector<float> whole = expanded(w.tensor);
  const TensorShard columns = shard(w.tensor, {ShardKind::kColumns, 1, 2, 1}).value();
  EXPECT_EQ(columns.tensor.shape, (Shape{3, 2, 6}));
  const std::vector<float> c = expanded(columns.tensor);
  EXPECT_EQ(c[0], whole[2 * 6]);
  EXPECT_EQ(c[2 * 6], whole[(4 + 2) * 6]);
  const TensorShard rows = shard(w.tensor, {ShardKind::kRows, 1, 2, 1}).value();
  EXPECT_EQ(rows.tensor.shape, (Shape{3, 4, 3}));
  EXPECT_EQ(expanded(rows.tensor)[3], whole[6 + 3]);
}

TEST(Shard, biases_are_divided_like_columns_and_replicas_are_views) {
  const Weight w = random_weight(DType::kF32, {8}, 5);
  const TensorShard part = shard(w.tensor, {ShardKind::kColumns, 1, 2, 2}).value();
  EXPECT_EQ(part.tensor.shape, (Shape{4}));
  EXPECT_EQ(part.tensor.bytes.data(), w.bytes.data() + 16);
  const TensorShard all = shard(w.tensor, {ShardKind::kReplicate, 1, 2, 1}).value();
  EXPECT_EQ(all.tensor.bytes.data(), w.bytes.data());
  EXPECT_EQ(all.tensor.bytes.size(), w.bytes.size());
}

TEST(Shard, what_cannot_be_divided_says_the_numbers) {
  const auto message = [](const Weight& w, const ShardRule& rule) {
    const Status status = shard(w.tensor, rule).status();
    EXPECT_EQ(status.code(), Code::kUnsupported);
    return status.message();
  };
  EXPECT_EQ(message(random_weight(DType::kF32, {9, 4}, 6), {ShardKind::kColumns, 0, 2, 3}),
            "tensor 'w' F32 [9, 4]: 9 rows in groups of 3 cannot be divided among 2 ranks");
  EXPECT_EQ(message(random_weight(DType::kQ4_K, {2, 768}, 7), {ShardKind::kRows, 0, 2, 1}),
            "tensor 'w' Q4_K [2, 768]: 3 blocks of 256 inputs cannot be divided among 2 ranks");
  EXPECT_NE(message(random_weight(DType::kF32, {8}, 8), {ShardKind::kRows, 0, 2, 1})
                .find("a weight of 1 dimensions"),
            std::string::npos);
}

}  // namespace
}  // namespace plumb
