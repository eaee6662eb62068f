// SPDX-License-Identifier: Apache-2.0
#include "check/forward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/meta/meta_backend.h"
#include "kernels/ref/ref_backend.h"
#include "model/families.h"
#include "model/model_test_scene.h"

namespace plumb {
namespace {

using Rows = std::vector<std::vector<float>>;

constexpr std::array<const char*, 4> kFamilies{"llama", "qwen2", "qwen3", "gemma3"};

std::vector<TokenId> some_ids(std::int64_t count) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<TokenId>((i * i * 37 + 11 * i + 5) % 512));
  }
  return ids;
}

double worst_distance(const Rows& a, const Rows& b) {
  double worst = a.size() == b.size() ? 0 : std::nan("");
  for (std::size_t t = 0; t < std::min(a.size(), b.size()); ++t) {
    double error = 0;
    double largest = 0;
    for (std::size_t i = 0; i < a[t].size(); ++i) {
      error = std::max(error, std::abs(static_cast<double>(a[t][i] - b[t][i])));
      largest = std::max(largest, std::abs(static_cast<double>(b[t][i])));
    }
    worst = std::max(worst, error / largest);
  }
  return worst;
}

class ForwardTest : public ModelTest {
 protected:
  std::unique_ptr<Model> load(Checkpoint& checkpoint, DType kv_dtype = DType::kF32) {
    Result<std::unique_ptr<Model>> model = load_model({checkpoint, *ref_, {}, kv_dtype, 32});
    expect_ok(model.status());
    return std::move(model).value();
  }

  Rows logits(const Model& model, const std::vector<TokenId>& ids, std::int64_t chunk) {
    Rows rows;
    Result<std::unique_ptr<Forward>> forward = Forward::create(
        model, *ref_, ref_->ops(), *meta_, static_cast<std::int64_t>(ids.size()), chunk);
    expect_ok(forward.status());
    expect_ok(forward.value()->run(ids, [&](std::int64_t position, std::span<const float> row) {
      EXPECT_EQ(position, static_cast<std::int64_t>(rows.size()));
      rows.emplace_back(row.begin(), row.end());
    }));
    return rows;
  }

  std::unique_ptr<Backend> ref_ = make_ref_backend();
  std::unique_ptr<Backend> meta_ = make_meta_backend();
};

TEST_F(ForwardTest, a_gguf_file_and_a_folder_of_the_same_model_give_the_same_logits) {
  for (const char* family : kFamilies) {
    for (const bool tied : {true, false}) {
      SCOPED_TRACE(std::string(family) + (tied ? " tied" : " untied"));
      SynthesisSpec spec = tiny(family);
      spec.tie_embeddings = tied;
      const std::unique_ptr<Checkpoint> a = gguf(spec);
      const std::unique_ptr<Checkpoint> b = hf_folder(spec);
      const std::vector<TokenId> ids = some_ids(70);
      const Rows rows = logits(*load(*a), ids, 70);
      EXPECT_LE(worst_distance(rows, logits(*load(*b), ids, 70)), 1e-5);
    }
  }
}

TEST_F(ForwardTest, the_chunk_does_not_matter) {
  for (const char* family : kFamilies) {
    SCOPED_TRACE(family);
    const std::unique_ptr<Checkpoint> checkpoint = gguf(tiny(family));
    const std::unique_ptr<Model> model = load(*checkpoint, DType::kF16);
    const std::vector<TokenId> ids = some_ids(75);
    const Rows whole = logits(*model, ids, 512);
    ASSERT_EQ(whole.size(), 75U);
    EXPECT_EQ(logits(*model, ids, 16), whole);
    EXPECT_EQ(logits(*model, ids, 1), whole);
  }
}

// Changing the first token changes nothing that lies beyond the window's reach: each window layer
// carries a token's trace window - 1 positions further.
TEST_F(ForwardTest, window_layers_forget_what_lies_beyond_the_window) {
  SynthesisSpec spec = tiny("gemma3");
  spec.num_layers = 2;  // both have windows
  spec.sliding_window = 8;
  const std::unique_ptr<Checkpoint> checkpoint = gguf(spec);
  const std::unique_ptr<Model> model = load(*checkpoint);
  std::vector<TokenId> ids = some_ids(40);
  const Rows before = logits(*model, ids, 40);
  ids[0] += 1;
  const Rows after = logits(*model, ids, 40);
  constexpr std::size_t kReach = 2 * (8 - 1);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    EXPECT_EQ(before[t] != after[t], t <= kReach) << "position " << t;
  }
}

TEST_F(ForwardTest, a_layer_that_sees_all_carries_the_first_token_to_the_end) {
  SynthesisSpec spec = tiny("gemma3");
  spec.num_layers = 6;  // the sixth sees all
  spec.sliding_window = 4;
  const std::unique_ptr<Checkpoint> checkpoint = gguf(spec);
  const std::unique_ptr<Model> model = load(*checkpoint);
  std::vector<TokenId> ids = some_ids(40);
  const Rows before = logits(*model, ids, 40);
  ids[0] += 1;
  const Rows after = logits(*model, ids, 40);
  EXPECT_NE(before.back(), after.back());
}

/// Everything that one step of a model needs, with or without memory.
class Step {
 public:
  Step(const Model& model, std::int64_t num_tokens, std::int64_t num_logits)
      : model_(model), num_blocks_((num_tokens + 31) / 32) {
    for (std::int32_t t = 0; t < num_tokens; ++t) {
      indices_.push_back(t);
    }
    blocks_ = {indices_.begin(), indices_.begin() + num_blocks_};
    rows_ = {indices_.begin(), indices_.begin() + num_logits};
    context_lens_ = {static_cast<std::int32_t>(num_tokens)};
    cu_seqlens_ = {0, static_cast<std::int32_t>(num_tokens)};
  }

  // The high-water mark of the workspace.
  std::int64_t run(const OpTable& ops, Stream& stream, Workspace* workspace, bool is_dry) {
    const auto view = [&](std::vector<std::int32_t>& v) {
      return Tensor::dense(is_dry ? nullptr : v.data(), DType::kI32,
                           {static_cast<std::int64_t>(v.size())});
    };
    ModelBatch batch;
    batch.token_ids = batch.positions = view(indices_);
    batch.full = {view(indices_), view(blocks_).reshaped({1, num_blocks_})};
    batch.windowed = batch.full;
    batch.context_lens = view(context_lens_);
    batch.cu_seqlens_q = view(cu_seqlens_);
    batch.logits_rows = view(rows_);
    batch.max_context_len = context_lens_[0];
    OpContext op(ops, *workspace, stream);
    model_.forward(op, batch, caches(is_dry));
    return workspace->peak_bytes();
  }

 private:
  std::vector<KvLayerCache> caches(bool is_dry) {
    const KvLayout layout = model_.kv_layout();
    std::vector<KvLayerCache> out(static_cast<std::size_t>(model_.facts().num_layers));
    for (const KvGroup& group : layout.groups) {
      const Shape shape{num_blocks_, group.num_kv_heads, layout.block_size, group.head_dim};
      for (const int layer : group.layers) {
        for (Tensor KvLayerCache::*part : {&KvLayerCache::k, &KvLayerCache::v}) {
          memory_.emplace_back(static_cast<std::size_t>(is_dry ? 0 : shape.num_elements()));
          out[static_cast<std::size_t>(layer)].*part =
              Tensor::dense(is_dry ? nullptr : memory_.back().data(), group.dtype, shape);
        }
      }
    }
    return out;
  }

  const Model& model_;
  std::int64_t num_blocks_;
  std::vector<std::int32_t> indices_, blocks_, rows_, context_lens_, cu_seqlens_;
  std::vector<std::vector<float>> memory_;
};

TEST_F(ForwardTest, a_dry_run_gives_the_exact_workspace) {
  for (const char* family : kFamilies) {
    const std::unique_ptr<Checkpoint> checkpoint = gguf(tiny(family));
    const std::unique_ptr<Model> model = load(*checkpoint);
    for (const std::int64_t num_tokens : {1, 7, 64}) {
      SCOPED_TRACE(std::string(family) + ", tokens " + std::to_string(num_tokens));
      Step step(*model, num_tokens, std::max<std::int64_t>(1, num_tokens / 2));
      Workspace dry = Workspace::measure();
      const std::unique_ptr<Stream> dry_stream = meta_->new_stream();
      const std::int64_t expected = step.run(meta_->ops(), *dry_stream, &dry, true);
      Result<Workspace> real = Workspace::create(ref_->allocator(), expected);
      ASSERT_TRUE(real.ok());
      const std::unique_ptr<Stream> stream = ref_->new_stream();
      EXPECT_EQ(step.run(ref_->ops(), *stream, &real.value(), false), expected);
    }
  }
}

TEST_F(ForwardTest, facts_and_cache_layout_follow_the_header) {
  const std::unique_ptr<Checkpoint> checkpoint = gguf(tiny("gemma3"));
  const std::unique_ptr<Model> model = load(*checkpoint, DType::kF16);
  EXPECT_EQ(model->facts().family, "gemma3");
  EXPECT_EQ(model->facts().num_layers, 7);
  EXPECT_EQ(model->facts().vocab_size, 512);
  const KvLayout layout = model->kv_layout();
  ASSERT_EQ(layout.groups.size(), 2U);
  EXPECT_EQ(layout.groups[0].layers, (std::vector<int>{5}));
  EXPECT_EQ(layout.groups[0].window, 0);
  EXPECT_EQ(layout.groups[1].layers, (std::vector<int>{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(layout.groups[1].window, 64);
  EXPECT_EQ(layout.bytes_per_token(), 7 * 2 * 32 * 2);
}

}  // namespace
}  // namespace plumb
