// SPDX-License-Identifier: Apache-2.0
#include "ops/profile_stream.h"

#include <array>
#include <gtest/gtest.h>

#include "support/ticking_clock.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

using std::chrono::microseconds;

/// The stream that the ops of the back end expect.
class CountingStream final : public HostStream {
 public:
  int num_calls = 0;
};

OpTable counting_ops() {
  OpTable table;
  table.add = [](const Add&, Stream& stream) { ++static_cast<CountingStream&>(stream).num_calls; };
  table.linear = [](const Linear& args, Stream& stream) {
    ++static_cast<CountingStream&>(stream).num_calls;
    args.outputs[0].y.as<float>()[0] = 7.0F;
  };
  table.paged_attention = [](const PagedAttention&, Stream&) {};
  return table;
}

TEST(ProfileStreamTest, calls_the_op_of_the_inner_stream_and_keeps_when_and_what) {
  const TickingClock clock(microseconds(1));
  const OpTable ops = counting_ops();
  auto inner = std::make_unique<CountingStream>();
  CountingStream& counting = *inner;
  ProfileStream stream(std::move(inner), ops, clock);
  const OpTable profiled = profiled_ops();
  EXPECT_TRUE(missing_ops(profiled).empty());

  std::array<float, 8> x{};
  std::array<float, 6> y{};
  const Weight q(DType::kQ8_0, 2, 32, &rows_layout(), std::span<const std::byte>());
  const Weight k(DType::kF32, 1, 32, &rows_layout(), std::span<const std::byte>());
  const std::array<LinearOutput, 2> outputs{
      {{&q, Tensor::dense(y.data(), DType::kF32, {2, 2}), {}},
       {&k, Tensor::dense(y.data() + 4, DType::kF32, {2, 1}), {}}}};
  std::array<float, 64> in{};
  const Linear linear{Tensor::dense(in.data(), DType::kF32, {2, 32}), outputs, {}};
  const Tensor eight = Tensor::dense(x.data(), DType::kF32, {2, 4});
  profiled.linear(linear, stream);
  profiled.add({eight, eight}, stream);
  EXPECT_EQ(counting.num_calls, 2);
  EXPECT_EQ(y[0], 7.0F);

  ASSERT_EQ(stream.calls().size(), 2U);
  const OpCall& first = stream.calls()[0];
  EXPECT_EQ(first.op, "linear");
  EXPECT_EQ(first.end - first.begin, microseconds(1));
  EXPECT_EQ(first.dtype, DType::kQ8_0);
  EXPECT_EQ(first.k, 32);
  EXPECT_EQ(first.n, 3);
  EXPECT_EQ(first.cost.flops, 2 * 2 * 3 * 32);
  EXPECT_EQ(first.cost.bytes_read, 2 * 32 * 4 + 2 * 34 + 32 * 4);  // x, two blocks of Q8_0, floats
  EXPECT_EQ(first.cost.bytes_written, 2 * 3 * 4);
  const OpCall& second = stream.calls()[1];
  EXPECT_EQ(second.op, "add");
  EXPECT_EQ(second.begin - first.end, microseconds(1));
  EXPECT_EQ(second.cost, cost(Add{eight, eight}));
  EXPECT_EQ(second.n, 0);
  stream.clear();
  EXPECT_TRUE(stream.calls().empty());
}

/// Attention of two sequences, of which the tables have room for 64 keys.
Cost attention_cost(std::int64_t window) {
  const TickingClock clock(microseconds(1));
  const OpTable ops = counting_ops();
  ProfileStream stream(std::make_unique<HostStream>(), ops, clock);
  std::array<std::int32_t, 3> begins{0, 3, 4};  // 3 rows of a prompt, one that is decoded
  std::array<std::int32_t, 2> context_lens{5, 40};
  PagedAttention args;
  args.q = args.y = Tensor::dense(nullptr, DType::kF32, {4, 6, 16});
  args.k_cache = args.v_cache = Tensor::dense(nullptr, DType::kF16, {8, 2, 16, 16});
  args.block_table = Tensor::dense(nullptr, DType::kI32, {2, 4});
  args.context_lens = Tensor::dense(context_lens.data(), DType::kI32, {2});
  args.cu_seqlens_q = Tensor::dense(begins.data(), DType::kI32, {3});
  args.window = window;
  profiled_ops().paged_attention(args, stream);
  return stream.calls()[0].cost;
}

// Rows 3, 4 and 5 of the first see 3 + 4 + 5 keys, the row of the second 40.
TEST(ProfileStreamTest, attention_costs_what_the_lengths_of_its_sequences_say) {
  const Cost all = attention_cost(0);
  EXPECT_EQ(all.flops, 4 * (3 + 4 + 5 + 40) * 6 * 16);
  EXPECT_EQ(all.bytes_read, 4 * 4 * 6 * 16 + 2 * (5 + 40) * 2 * 16 * 2);
  EXPECT_EQ(all.bytes_written, 4 * 4 * 6 * 16);
}

// With a window of 4: 3 + 4 + 4 keys, of 5 that are read (6 would be in reach), and 4.
TEST(ProfileStreamTest, a_window_limits_what_attention_costs) {
  const Cost windowed = attention_cost(4);
  EXPECT_EQ(windowed.flops, 4 * (3 + 4 + 4 + 4) * 6 * 16);
  EXPECT_EQ(windowed.bytes_read, 4 * 4 * 6 * 16 + 2 * (5 + 4) * 2 * 16 * 2);
}

}  // namespace
}  // namespace plumb
