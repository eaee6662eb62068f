// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "ops/cost_stream.h"
#include "ops/op_table.h"
#include "ops/shape_check.h"

namespace plumb {
namespace {

Tensor f32(const Shape& shape, void* address = nullptr) {
  return Tensor::dense(address, DType::kF32, shape);
}

Tensor i32(const Shape& shape) {
  return Tensor::dense(nullptr, DType::kI32, shape);
}

Tensor strided(const Shape& shape, void* address, std::int64_t row_stride) {
  Tensor tensor = f32(shape, address);
  tensor.row_stride = row_stride;
  return tensor;
}

PagedAttention attention_args() {
  return {.q = f32({3, 4, 64}),
          .k_cache = Tensor::dense(nullptr, DType::kF16, {5, 2, 32, 64}),
          .v_cache = Tensor::dense(nullptr, DType::kF16, {5, 2, 32, 64}),
          .block_table = i32({2, 4}),
          .context_lens = i32({2}),
          .cu_seqlens_q = i32({3}),
          .sinks = {},
          .y = f32({3, 4, 64}),
          .scratch = Tensor::dense(nullptr, DType::kI8, {4096})};
}

TEST(ShapeCheck, a_size_binds_at_its_first_use_and_the_message_shows_it_later) {
  Dim T("T");
  Dim H("H");
  ShapeCheck c("demo");
  c.match("x", Shape{8, 64}, {T, H}).match("slots", Shape{7}, {T}).match("z", Shape{1}, {H});
  EXPECT_EQ(c.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(c.status().message(), "demo: slots [7], expected [T=8]");
}

TEST(ShapeCheck, names_rank_type_stride_and_unbound_sizes) {
  Dim T("T");
  Dim H("H");
  EXPECT_EQ(ShapeCheck("a").match("x", Shape{8}, {T, H}).status().message(),
            "a: x [8], expected [T, H]");
  EXPECT_EQ(ShapeCheck("a").match("x", i32({8, 4}), DType::kF32, {T, H}).status().message(),
            "a: x is I32, expected F32");
  Dim M("M");
  EXPECT_EQ(ShapeCheck("a")
                .match("x", strided({2, 4}, nullptr, 3), DType::kF32, {M, 4})
                .status()
                .message(),
            "a: x has row stride 3, expected at least 4");
  EXPECT_EQ(ShapeCheck("a")
                .match_dense("x", strided({2, 4}, nullptr, 6), DType::kF32, {2, 4})
                .status()
                .message(),
            "a: x has row stride 6, expected dense rows of 4");
  Dim N("N");
  EXPECT_EQ(ShapeCheck("a").match("x", Shape{2, 3}, {N, 4}).status().message(),
            "a: x [2, 3], expected [N, 4]");
}

TEST(ShapeCheck, a_name_that_occurs_twice_in_a_shape_must_agree) {
  Dim N("N");
  EXPECT_TRUE(ShapeCheck("a").match("x", Shape{3, 3}, {N, N}).status().ok());
  Dim M("M");
  EXPECT_FALSE(ShapeCheck("a").match("x", Shape{3, 4}, {M, M}).status().ok());
}

TEST(Overlap, sees_common_bytes_and_not_interleaved_rows) {
  std::array<float, 64> memory{};
  float* at = memory.data();
  EXPECT_TRUE(overlap(f32({2, 4}, at), f32({2, 4}, at + 7)));
  EXPECT_FALSE(overlap(f32({2, 4}, at), f32({2, 4}, at + 8)));
  // Columns [0,4) and [4,8) of a [8,8] matrix.
  EXPECT_FALSE(overlap(strided({8, 4}, at, 8), strided({8, 4}, at + 4, 8)));
  EXPECT_FALSE(overlap(strided({8, 4}, at + 4, 8), strided({8, 4}, at, 8)));
  EXPECT_TRUE(overlap(strided({8, 5}, at, 8), strided({8, 4}, at + 4, 8)));
  EXPECT_TRUE(overlap(strided({7, 4}, at + 4, 8), strided({8, 5}, at, 8)));
  EXPECT_FALSE(overlap(f32({0, 4}, at), f32({2, 4}, at)));
  EXPECT_FALSE(overlap(f32({2, 4}), f32({2, 4})));
}

TEST(Validate, rms_norm_takes_any_stride_and_full_aliasing_but_no_partial_one) {
  std::array<float, 64> memory{};
  const Tensor x = strided({3, 4}, memory.data(), 8);
  const Tensor weight = f32({4}, memory.data() + 48);
  EXPECT_TRUE(validate(RmsNorm{x, weight, x}).ok());
  EXPECT_TRUE(validate(RmsNorm{x, weight, strided({3, 4}, memory.data() + 4, 8)}).ok());
  EXPECT_EQ(validate(RmsNorm{x, weight, f32({3, 4}, memory.data() + 2)}).message(),
            "rms_norm: y overlaps x in part, expected the same rows or none");
  EXPECT_EQ(validate(RmsNorm{f32({3, 4}), f32({5}), f32({3, 4})}).message(),
            "rms_norm: weight [5], expected [H=4]");
  EXPECT_FALSE(validate(RmsNorm{f32({3, 0}), f32({0}), f32({3, 0})}).ok());
  EXPECT_TRUE(validate(RmsNorm{f32({0, 4}), f32({4}), f32({0, 4})}).ok());
}

TEST(Validate, add_rms_norm_keeps_the_residual_apart) {
  std::array<float, 64> memory{};
  const Tensor a = f32({2, 4}, memory.data());
  const Tensor b = f32({2, 4}, memory.data() + 8);
  const Tensor weight = f32({4}, memory.data() + 16);
  EXPECT_TRUE(validate(AddRmsNorm{a, b, weight, a}).ok());
  EXPECT_EQ(validate(AddRmsNorm{a, b, weight, b}).message(), "add_rms_norm: residual overlaps y");
}

TEST(Validate, linear_checks_every_output_and_its_scratch) {
  const Weight weight(DType::kF32, 7, 32, nullptr, std::span<const std::byte>());
  const Weight narrow(DType::kF32, 7, 31, nullptr, std::span<const std::byte>());
  const Tensor scratch = Tensor::dense(nullptr, DType::kI8, {linear_scratch_bytes(3, 32)});
  std::vector<LinearOutput> outputs(2, LinearOutput{&weight, f32({3, 7}), {}});
  EXPECT_TRUE(validate(Linear{f32({3, 32}), outputs, scratch}).ok());
  EXPECT_FALSE(validate(Linear{f32({3, 32}), {}, scratch}).ok());
  outputs[1].bias = f32({6});
  EXPECT_EQ(validate(Linear{f32({3, 32}), outputs, scratch}).message(),
            "linear: outputs[1].bias [6], expected [N=7]");
  outputs[1] = {&narrow, f32({3, 7}), {}};
  EXPECT_EQ(validate(Linear{f32({3, 32}), outputs, scratch}).message(),
            "linear: outputs[1].weight [7, 31], expected [N, K=32]");
  outputs[1].weight = nullptr;
  EXPECT_EQ(validate(Linear{f32({3, 32}), outputs, scratch}).message(),
            "linear: outputs[1].weight is null");
  outputs.resize(1);
  EXPECT_EQ(
      validate(Linear{f32({3, 32}), outputs, Tensor::dense(nullptr, DType::kI8, {8})}).message(),
      "linear: scratch I8 [8], expected at least I8 [7168]");
  outputs[0].y = f32({0, 7});
  EXPECT_TRUE(validate(Linear{f32({0, 32}), outputs, {}}).ok());
}

TEST(Validate, paged_attention_checks_heads_tables_and_types) {
  EXPECT_TRUE(validate(attention_args()).ok()) << validate(attention_args()).message();
  PagedAttention args = attention_args();
  args.cu_seqlens_q = i32({2});
  EXPECT_EQ(validate(args).message(), "paged_attention: cu_seqlens_q [2], expected [3]");
  args = attention_args();
  args.q = f32({3, 3, 64});
  args.y = f32({3, 3, 64});
  EXPECT_EQ(validate(args).message(), "paged_attention: Hq=3 is not a multiple of Hkv=2");
  args = attention_args();
  args.v_cache = Tensor::dense(nullptr, DType::kF32, {5, 2, 32, 64});
  EXPECT_EQ(validate(args).message(), "paged_attention: v_cache is F32, expected F16");
  args = attention_args();
  args.k_cache = Tensor::dense(nullptr, DType::kBF16, {5, 2, 32, 64});
  EXPECT_EQ(validate(args).message(), "paged_attention: k_cache is neither F16 nor F32");
  args = attention_args();
  args.sinks = f32({2});
  EXPECT_EQ(validate(args).message(), "paged_attention: sinks [2], expected [Hq=4]");
}

TEST(Validate, the_other_ops_name_what_does_not_fit) {
  EXPECT_EQ(validate(Glu{f32({2, 3}), f32({2, 4}), f32({2, 3})}).message(),
            "glu: up [2, 4], expected [T=2, I=3]");
  EXPECT_EQ(validate(Rope{f32({2, 3, 8}), i32({2}), f32({5})}).message(),
            "rope: R=10 is above D=8");
  EXPECT_EQ(validate(Rope{f32({2, 3, 8}), i32({1}), f32({4})}).message(),
            "rope: positions [1], expected [T=2]");
  EXPECT_EQ(validate(Embedding{i32({2}), nullptr, f32({2, 3})}).message(), "embedding: no weight");
  EXPECT_EQ(validate(GatherRows{f32({2, 3}), i32({4}), f32({3, 3})}).message(),
            "gather_rows: y [3, 3], expected [R=4, H=3]");
  EXPECT_EQ(validate(Argmax{f32({2, 0}), i32({2}), f32({2})}).message(),
            "argmax: V=0, expected at least 1");
  EXPECT_EQ(validate(LogSumExp{f32({2, 5}), f32({3})}).message(),
            "log_sum_exp: y [3], expected [R=2]");
  const Tensor cache = Tensor::dense(nullptr, DType::kF16, {4, 2, 16, 8});
  EXPECT_TRUE(validate(KvAppend{f32({3, 2, 8}), f32({3, 2, 8}), i32({3}), cache, cache}).ok());
  EXPECT_EQ(validate(KvAppend{f32({3, 1, 8}), f32({3, 1, 8}), i32({3}), cache, cache}).message(),
            "kv_append: k_cache [4, 2, 16, 8], expected [num_blocks, Hkv=1, block_size, D=8]");
}

TEST(Cost, counts_multiplications_and_the_bytes_that_must_move) {
  const Weight weight(DType::kQ4_0, 10, 64, nullptr, std::span<const std::byte>());
  const LinearOutput output{&weight, f32({3, 10}), f32({10})};
  EXPECT_EQ(cost(Linear{f32({3, 64}), {&output, 1}, {}}),
            (Cost{.flops = 2 * 3 * 10 * 64 + 30,
                  .bytes_read = 3 * 64 * 4 + 10 * 36 + 10 * 4,
                  .bytes_written = 3 * 10 * 4}));
  EXPECT_EQ(cost(Linear{f32({0, 64}), {&output, 1}, {}}), Cost{});
  // 3 rows, 2 sequences of at most 4 blocks of 32 keys.
  EXPECT_EQ(cost(attention_args()), (Cost{.flops = 4LL * 3 * 4 * 64 * 128,
                                          .bytes_read = 3 * 4 * 64 * 4 + 2LL * 2 * 128 * 2 * 64 * 2,
                                          .bytes_written = 3 * 4 * 64 * 4}));
  PagedAttention windowed = attention_args();
  windowed.window = 16;
  EXPECT_EQ(cost(windowed).flops, 4LL * 3 * 4 * 64 * 16);
}

TEST(ScratchBytes, cover_the_quantised_rows_and_the_partial_results) {
  for (const std::int64_t k : {1, 31, 32, 255, 256, 257, 8192}) {
    // K int8, and a scale and a sum of 4 bytes for each 32 elements.
    EXPECT_GE(linear_scratch_bytes(7, k), 7 * (k + (k + 31) / 32 * 8) + 64) << k;
    EXPECT_GE(linear_scratch_bytes(1, k), k * 4);
  }
  EXPECT_EQ(paged_attention_scratch_bytes(9, 4, 64, 512), 4096);
  EXPECT_EQ(paged_attention_scratch_bytes(9, 4, 64, 513), 9 * 4 * 2 * 66 * 4 + 4096);
  EXPECT_EQ(paged_attention_scratch_bytes(0, 4, 64, 5000), 4096);
  EXPECT_EQ(paged_attention_scratch_bytes(8192, 32, 128, 131072), (32 << 20) + 4096);
}

TEST(CostStream, sums_the_calls_of_each_op) {
  CostStream stream;
  stream.add("glu", {1, 2, 3});
  stream.add("rope", {10, 20, 30});
  stream.add("glu", {1, 2, 3});
  ASSERT_EQ(stream.costs().size(), 2U);
  EXPECT_EQ(stream.costs()[0].op, "glu");
  EXPECT_EQ(stream.costs()[0].num_calls, 2);
  EXPECT_EQ(stream.costs()[0].cost, (Cost{2, 4, 6}));
  EXPECT_EQ(stream.total(), (Cost{12, 24, 36}));
}

void fake_glu(const Glu&, Stream&) {}

TEST(OpTable, replaces_one_op_and_names_the_known_ones) {
  OpTable table;
  OpTable other;
  other.glu = fake_glu;
  EXPECT_EQ(missing_ops(table).size(), op_names().size());
  EXPECT_TRUE(replace_op(&table, "glu", other).ok());
  EXPECT_EQ(table.glu, &fake_glu);
  EXPECT_EQ(replace_op(&table, "rope", other).code(), Code::kUnsupported);
  const Status unknown = replace_op(&table, "gemm", other);
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_NE(unknown.message().find("paged_attention"), std::string::npos);
}

TEST(Validate, encoder_ops_say_what_does_not_fit) {
  std::vector<float> memory(64);
  EXPECT_EQ(validate(Add{f32({2, 4}), f32({3, 4})}).message(),
            "add: y [3, 4], expected [T=2, H=4]");
  EXPECT_FALSE(validate(Add{f32({2, 4}, memory.data()), f32({2, 4}, memory.data())}).ok());
  const auto norm = [](const Shape& residual, const Shape& bias, float eps) {
    return validate(LayerNorm{.x = f32({2, 4}),
                              .residual = f32(residual),
                              .weight = f32({4}),
                              .bias = f32(bias),
                              .y = f32({2, 4}),
                              .eps = eps})
        .message();
  };
  EXPECT_EQ(norm({2, 4}, {4}, 0.0F), "");
  EXPECT_EQ(norm({2, 5}, {4}, 0.0F), "layer_norm: residual [2, 5], expected [T=2, H=4]");
  EXPECT_EQ(norm({2, 4}, {5}, 0.0F), "layer_norm: bias [5], expected [H=4]");
  EXPECT_EQ(norm({2, 4}, {4}, -1.0F), "layer_norm: eps is negative");
  EXPECT_EQ(validate(Gelu{f32({2, 4}), f32({2, 5})}).message(),
            "gelu: y [2, 5], expected [T=2, I=4]");
  const Tensor heads = f32({5, 2, 8});
  EXPECT_TRUE(validate(VarlenAttention{heads, heads, heads, i32({3}), heads}).ok());
  EXPECT_EQ(validate(VarlenAttention{heads, f32({5, 1, 8}), heads, i32({3}), heads}).message(),
            "varlen_attention: k [5, 1, 8], expected [T=5, H=2, D=8]");
  EXPECT_EQ(validate(VarlenAttention{heads, heads, heads, i32({0}), heads}).message(),
            "varlen_attention: cu_seqlens is empty, expected at least its first 0");
  EXPECT_TRUE(validate(Pool{f32({5, 8}), i32({3}), f32({2, 8})}).ok());
  EXPECT_EQ(validate(Pool{f32({5, 8}), i32({2}), f32({2, 8})}).message(),
            "pool: cu_seqlens [2], expected [3]");
  EXPECT_EQ(validate(Pool{f32({5, 8}), i32({3}), f32({2, 9})}).message(),
            "pool: y [2, 9], expected [B, H=8]");
}

TEST(Cost, of_attention_without_a_cache_is_that_of_its_own_rows) {
  const Tensor heads = f32({6, 2, 8});
  const Cost expected{.flops = 4 * 96 * 3, .bytes_read = 12 * 96, .bytes_written = 4 * 96};
  EXPECT_EQ(cost(VarlenAttention{heads, heads, heads, i32({3}), heads}), expected);
  const Cost mean{.flops = 6 * 8 + 16, .bytes_read = 4 * 48, .bytes_written = 4 * 16};
  EXPECT_EQ(cost(Pool{f32({6, 8}), i32({3}), f32({2, 8})}), mean);
}

}  // namespace
}  // namespace plumb
