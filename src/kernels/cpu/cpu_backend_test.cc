// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_backend.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "kernels/cpu/cpu_features.h"
#include "ops/cases.h"
#include "tensor/format.h"

namespace plumb {
namespace {

class CpuBackend : public testing::TestWithParam<CpuTier> {
 protected:
  void SetUp() override {
    if (GetParam() == CpuTier::kAvx512 && !cpu::has_avx512()) {
      GTEST_SKIP() << "this processor has no AVX-512 with VNNI";
    }
  }

  static std::unique_ptr<Backend> make(int num_threads) {
    return make_cpu_backend({num_threads, GetParam()}).value();
  }
};

INSTANTIATE_TEST_SUITE_P(Tiers, CpuBackend, testing::Values(CpuTier::kAvx2, CpuTier::kAvx512),
                         [](const auto& tier) {
                           return tier.param == CpuTier::kAvx2 ? "avx2" : "avx512";
                         });

TEST_P(CpuBackend, unpacks_each_row_to_the_bits_of_its_format) {
  const std::unique_ptr<Backend> backend = make(2);
  CaseRng rng(7);
  for (const DType dtype : weight_formats()) {
    for (const std::int64_t rows : {1, 7, 16, 17, 33}) {
      const std::int64_t cols = 512;
      const std::vector<std::byte> raw = random_weight(dtype, rows, cols, rng);
      const Result<Weight> weight = backend->pack({dtype, rows, cols, raw});
      ASSERT_TRUE(weight.ok());
      std::vector<float> expected(cols);
      std::vector<float> got(cols);
      for (std::int64_t row = 0; row < rows; ++row) {
        dequantize(dtype, raw.data() + row * row_bytes(dtype, cols), cols, expected.data());
        weight.value().unpack_row(row, got.data());
        EXPECT_EQ(std::memcmp(expected.data(), got.data(), cols * sizeof(float)), 0)
            << to_text(dtype) << " row " << row;
      }
    }
  }
}

TEST_P(CpuBackend, keeps_packed_weights_close_to_the_size_of_the_file) {
  const std::unique_ptr<Backend> backend = make(1);
  CaseRng rng(8);
  for (const DType dtype : weight_formats()) {
    const std::vector<std::byte> raw = random_weight(dtype, 64, 512, rng);
    const Result<Weight> weight = backend->pack({dtype, 64, 512, raw});
    EXPECT_LE(static_cast<double>(weight.value().bytes().size()),
              1.05 * static_cast<double>(raw.size()))
        << to_text(dtype);
  }
}

/// Products of a weight with the rows of x.
std::vector<float> products(Backend& backend, const Weight& weight, std::vector<float>& x) {
  const std::unique_ptr<Stream> stream = backend.new_stream();
  const std::int64_t k = weight.cols();
  const auto m = static_cast<std::int64_t>(x.size()) / k;
  std::vector<float> y(static_cast<std::size_t>(m * weight.rows()));
  const std::int64_t scratch_bytes = linear_scratch_bytes(m, k);
  Buffer scratch = backend.allocator().allocate(scratch_bytes).value();
  const LinearOutput output{&weight, Tensor::dense(y.data(), DType::kF32, {m, weight.rows()}), {}};
  backend.ops().linear({Tensor::dense(x.data(), DType::kF32, {m, k}),
                        {&output, 1},
                        Tensor::dense(scratch.address(), DType::kI8, {scratch_bytes})},
                       *stream);
  return y;
}

TEST_P(CpuBackend, gives_the_same_bits_for_any_number_of_rows_and_threads) {
  constexpr std::int64_t kRows = 83;
  constexpr std::int64_t kCols = 768;
  CaseRng rng(9);
  for (const DType dtype : weight_formats()) {
    const std::vector<std::byte> raw = random_weight(dtype, kRows, kCols, rng);
    std::vector<float> x = rng.normals(20 * kCols);
    std::vector<float> expected;
    for (const int num_threads : {1, 2, 3}) {
      const std::unique_ptr<Backend> backend = make(num_threads);
      const Weight weight = backend->pack({dtype, kRows, kCols, raw}).value();
      for (const std::int64_t m : {20, 15, 9, 8, 7, 4, 3, 2, 1}) {
        std::vector<float> part(x.begin(), x.begin() + m * kCols);
        const std::vector<float> y = products(*backend, weight, part);
        if (expected.empty()) {
          expected = y;
        }
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
            << to_text(dtype) << " m " << m << " threads " << num_threads;
      }
    }
  }
}

// Every code of every sign against activations of +-127 steps: no partial sum may overflow.
TEST_P(CpuBackend, keeps_integer_sums_exact_at_their_extremes) {
  constexpr std::int64_t kCols = 256;
  const std::unique_ptr<Backend> backend = make(1);
  for (const DType dtype : weight_formats()) {
    if (traits(dtype).block_elems == 1 || dtype == DType::kQ13) {
      continue;
    }
    for (const int fill : {0x00, 0x7F, 0x80, 0x88, 0xFF}) {
      std::vector<std::byte> raw(static_cast<std::size_t>(row_bytes(dtype, kCols)),
                                 static_cast<std::byte>(fill));
      CaseRng rng(1);
      const std::vector<std::byte> scaled = random_weight(dtype, 1, kCols, rng);
      std::vector<float> values(kCols);
      // The scales of a sensible matrix, the codes all alike: only codes beside the scales count.
      for (std::size_t i = 0; i < raw.size(); ++i) {
        const bool is_half =
            static_cast<int>(i % static_cast<std::size_t>(traits(dtype).block_bytes)) < 4 ||
            static_cast<int>(i % static_cast<std::size_t>(traits(dtype).block_bytes)) >=
                traits(dtype).block_bytes - 4;
        raw[i] = is_half ? scaled[i] : raw[i];
      }
      dequantize(dtype, raw.data(), kCols, values.data());
      const Weight weight = backend->pack({dtype, 1, kCols, raw}).value();
      for (const float sign : {1.0F, -1.0F}) {
        std::vector<float> x(kCols, sign);  // quantised without error
        double expected = 0.0;
        double magnitude = 0.0;
        for (const float value : values) {
          expected += static_cast<double>(sign) * static_cast<double>(value);
          magnitude += std::fabs(static_cast<double>(value));
        }
        EXPECT_NEAR(static_cast<double>(products(*backend, weight, x)[0]), expected,
                    2e-6 * magnitude)
            << to_text(dtype) << " codes " << fill << " sign " << sign;
      }
    }
  }
}

// 128 products of the largest integers, of weights and of activations, just fit 31 bits.
TEST_P(CpuBackend, keeps_sums_of_the_largest_13_bit_products_exact) {
  constexpr std::int64_t kCols = 256;
  const std::unique_ptr<Backend> backend = make(1);
  const std::vector<float> values(kCols, -4095.0F);
  std::vector<std::byte> raw(static_cast<std::size_t>(row_bytes(DType::kQ13, kCols)));
  quantize(DType::kQ13, values.data(), kCols, raw.data());
  const Weight weight = backend->pack({DType::kQ13, 1, kCols, raw}).value();
  for (const float x : {4095.0F, -4095.0F}) {
    std::vector<float> row(kCols, x);
    EXPECT_EQ(products(*backend, weight, row)[0], x * -4095.0F * kCols);
  }
}

TEST_P(CpuBackend, takes_formats_that_round_differently_in_one_call) {
  constexpr std::int64_t kCols = 256;
  const std::unique_ptr<Backend> backend = make(2);
  const std::unique_ptr<Stream> stream = backend->new_stream();
  CaseRng rng(5);
  std::vector<float> x = rng.normals(5 * kCols);
  std::vector<Weight> weights;
  std::vector<std::vector<float>> together(4, std::vector<float>(5 * 35));
  std::vector<LinearOutput> outputs;
  for (const DType dtype : {DType::kQ13, DType::kQ6_K, DType::kF32, DType::kQ13}) {
    const std::vector<std::byte> raw = random_weight(dtype, 35, kCols, rng);
    weights.push_back(backend->pack({dtype, 35, kCols, raw}).value());
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    outputs.push_back({&weights[i], Tensor::dense(together[i].data(), DType::kF32, {5, 35}), {}});
  }
  const std::int64_t scratch_bytes = linear_scratch_bytes(5, kCols);
  Buffer scratch = backend->allocator().allocate(scratch_bytes).value();
  backend->ops().linear({Tensor::dense(x.data(), DType::kF32, {5, kCols}), outputs,
                         Tensor::dense(scratch.address(), DType::kI8, {scratch_bytes})},
                        *stream);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(together[i], products(*backend, weights[i], x)) << i;
  }
}

TEST_P(CpuBackend, makes_a_row_with_nan_or_infinity_visible) {
  const std::unique_ptr<Backend> backend = make(1);
  CaseRng rng(3);
  for (const DType dtype : {DType::kQ4_1, DType::kQ13}) {
    const std::vector<std::byte> raw = random_weight(dtype, 17, 128, rng);
    const Weight weight = backend->pack({dtype, 17, 128, raw}).value();
    for (const float bad : {std::nanf(""), HUGE_VALF}) {
      std::vector<float> x = rng.normals(3 * 128);
      x[128 + 37] = bad;
      const std::vector<float> y = products(*backend, weight, x);
      for (std::size_t n = 0; n < 17; ++n) {
        EXPECT_TRUE(std::isfinite(y[n]) && std::isfinite(y[34 + n]));
        EXPECT_FALSE(std::isfinite(y[17 + n]));
      }
    }
  }
}

TEST_P(CpuBackend, computes_with_a_weight_of_another_layout) {
  const std::unique_ptr<Backend> backend = make(2);
  CaseRng rng(4);
  const std::vector<std::byte> raw = random_weight(DType::kQ6_K, 35, 256, rng);
  const Weight packed = backend->pack({DType::kQ6_K, 35, 256, raw}).value();
  const Weight mapped(DType::kQ6_K, 35, 256, &rows_layout(), raw);
  std::vector<float> x = rng.normals(5 * 256);
  const std::vector<float> expected = products(*backend, mapped, x);
  const std::vector<float> got = products(*backend, packed, x);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 0.05);
  }
}

TEST(MakeCpuBackend, refuses_types_and_shapes_without_kernels) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({1, CpuTier::kAvx2}).value();
  const std::vector<std::byte> bytes(4096);
  EXPECT_EQ(backend->pack({DType::kI32, 4, 32, bytes}).status().code(), Code::kUnsupported);
  EXPECT_EQ(backend->pack({DType::kQ4_1, 1, 33, bytes}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace plumb
