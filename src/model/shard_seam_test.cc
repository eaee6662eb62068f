// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <numeric>

#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"
#include "model/model_test_scene.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

constexpr std::int64_t kNumTokens = 9;
constexpr std::int32_t kBlockSize = 4;
constexpr std::int64_t kNumBlocks = 3;

// Activations [T, hidden] of layer input, the same for every rank.
std::vector<float> input(std::int64_t hidden) {
  std::vector<float> x(static_cast<std::size_t>(kNumTokens * hidden));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(static_cast<float>(i) * 0.7F) + 0.1F;
  }
  return x;
}

/// One sequence of kNumTokens rows in blocks of its own.
struct OneSequence {
  std::vector<std::int32_t> positions, slots, block_table{2, 0, 1},
      context_lens{static_cast<std::int32_t>(kNumTokens)},
      cu_seqlens{0, static_cast<std::int32_t>(kNumTokens)};

  OneSequence() {
    for (std::int32_t t = 0; t < kNumTokens; ++t) {
      positions.push_back(t);
      slots.push_back(block_table[static_cast<std::size_t>(t / kBlockSize)] * kBlockSize +
                      t % kBlockSize);
    }
  }

  ModelBatch view() {
    ModelBatch batch;
    batch.positions = Tensor::dense(positions.data(), DType::kI32, {kNumTokens});
    batch.full = {Tensor::dense(slots.data(), DType::kI32, {kNumTokens}),
                  Tensor::dense(block_table.data(), DType::kI32, {1, kNumBlocks})};
    batch.context_lens = Tensor::dense(context_lens.data(), DType::kI32, {1});
    batch.cu_seqlens_q = Tensor::dense(cu_seqlens.data(), DType::kI32, {2});
    batch.max_context_len = kNumTokens;
    return batch;
  }
};

class ShardSeam : public ModelTest {
 protected:
  // What rank `rank` adds to the sum after attention and output projection of layer 0.
  std::vector<float> attention_part(Checkpoint& checkpoint, ShardRank rank) {
    const ModelConfig config = read_config(checkpoint).value();
    WeightLoader load(checkpoint, *backend_, rank);
    AttentionBlock block = load_attention(load, 0, config);
    load_biases(load, 0, config, &block);
    if (config.family == "qwen3") {
      load_head_norms(load, 0, config, &block);
    }
    const Rotation rotation = load_rotation(
        load, make_rope_table(config.rope, config.max_context_len, {}).value(), config.rope.style);
    block.rotation = &rotation;
    EXPECT_EQ(block.num_q_heads, config.num_q_heads / rank.num_ranks);
    const std::int64_t cache_values = kNumBlocks * block.num_kv_heads * kBlockSize * block.head_dim;
    std::vector<float> k(static_cast<std::size_t>(cache_values));
    std::vector<float> v(k.size());
    const Shape cache_shape{kNumBlocks, block.num_kv_heads, kBlockSize, block.head_dim};
    const KvLayerCache cache{Tensor::dense(k.data(), DType::kF32, cache_shape),
                             Tensor::dense(v.data(), DType::kF32, cache_shape)};
    OneSequence sequence;
    std::vector<float> x = input(config.hidden_size);
    const Tensor in = Tensor::dense(x.data(), DType::kF32, {kNumTokens, config.hidden_size});
    return run(config.hidden_size, [&](OpContext& op, const Tensor& y) {
      op.linear_into(block.attend(op, in, sequence.view(), cache), block.wo, y);
    });
  }

  std::vector<float> mlp_part(Checkpoint& checkpoint, ShardRank rank) {
    const ModelConfig config = read_config(checkpoint).value();
    WeightLoader load(checkpoint, *backend_, rank);
    const MlpBlock block = load_mlp(load, 0, config);
    EXPECT_EQ(block.gate.rows(), config.intermediate_size / rank.num_ranks);
    std::vector<float> x = input(config.hidden_size);
    const Tensor in = Tensor::dense(x.data(), DType::kF32, {kNumTokens, config.hidden_size});
    return run(config.hidden_size,
               [&](OpContext& op, const Tensor& y) { block.forward(op, in, y); });
  }

  template <class Compute>
  std::vector<float> run(std::int64_t hidden, Compute compute) {
    std::vector<float> out(static_cast<std::size_t>(kNumTokens * hidden));
    const std::unique_ptr<Stream> stream = backend_->new_stream();
    Result<Workspace> workspace = Workspace::create(backend_->allocator(), 1 << 20);
    expect_ok(workspace.status());
    OpContext op(backend_->ops(), workspace.value(), *stream);
    compute(op, Tensor::dense(out.data(), DType::kF32, {kNumTokens, hidden}));
    return out;
  }

  static void expect_sum(const std::vector<float>& a, const std::vector<float>& b,
                         const std::vector<float>& whole) {
    ASSERT_EQ(a.size(), whole.size());
    double largest = 0;
    double error = 0;
    double largest_part = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(whole[i])));
      largest_part = std::max(largest_part, std::abs(static_cast<double>(b[i])));
      error = std::max(error, std::abs(static_cast<double>(a[i]) + static_cast<double>(b[i]) -
                                       static_cast<double>(whole[i])));
    }
    EXPECT_GT(largest_part, 0.01 * largest) << "each rank has a share";
    EXPECT_LE(error, 1e-5 * largest);
  }

  std::unique_ptr<Backend> backend_ = make_ref_backend();
};

// gemma3 has one kv head, which cannot be split.
constexpr std::array<const char*, 3> kSplitFamilies{"llama", "qwen2", "qwen3"};

TEST_F(ShardSeam, partial_results_of_attention_add_up_to_the_whole) {
  for (const char* family : kSplitFamilies) {
    for (const char* quant : {"F32", "Q8_0"}) {
      SCOPED_TRACE(std::string(family) + " " + quant);
      SynthesisSpec spec = tiny(family);
      spec.quant = quant;
      const std::unique_ptr<Checkpoint> checkpoint = gguf(spec);
      expect_sum(attention_part(*checkpoint, {0, 2}), attention_part(*checkpoint, {1, 2}),
                 attention_part(*checkpoint, {0, 1}));
    }
  }
}

TEST_F(ShardSeam, partial_results_of_the_feed_forward_add_up_to_the_whole) {
  for (const char* family : {"llama", "gemma3"}) {
    for (const char* quant : {"F32", "Q4_1"}) {
      SCOPED_TRACE(std::string(family) + " " + quant);
      SynthesisSpec spec = tiny(family);
      spec.quant = quant;
      const std::unique_ptr<Checkpoint> checkpoint = gguf(spec);
      expect_sum(mlp_part(*checkpoint, {0, 2}), mlp_part(*checkpoint, {1, 2}),
                 mlp_part(*checkpoint, {0, 1}));
    }
  }
}

TEST_F(ShardSeam, the_cache_of_a_rank_holds_its_heads) {
  const std::unique_ptr<Checkpoint> checkpoint = gguf(tiny("llama"));
  const auto layout = [&](ShardRank rank) {
    return load_model({*checkpoint, *backend_, rank}).value()->kv_layout();
  };
  EXPECT_EQ(layout({0, 1}).bytes_per_token(), 2 * layout({1, 2}).bytes_per_token());
}

}  // namespace
}  // namespace plumb
