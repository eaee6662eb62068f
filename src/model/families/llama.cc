// SPDX-License-Identifier: Apache-2.0
#include "model/families/llama.h"

#include <utility>
#include <vector>

#include "model/blocks/attention.h"
#include "model/blocks/head.h"
#include "model/blocks/kv_groups.h"
#include "model/blocks/mlp.h"

namespace plumb {
namespace {

struct LlamaLayer {
  Parameter attn_norm;
  AttentionBlock attn;
  Parameter ffn_norm;
  MlpBlock mlp;
};

// Pre-norm decoder. `x` is what a block put out and is not yet part of `residual`; the next norm
// adds it.
class LlamaModel final : public Model {
 public:
  const ModelFacts& facts() const override { return facts_; }

  KvLayout kv_layout() const override { return layout_; }

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache> caches) const override {
    Tensor residual = head_.embed(op, batch.token_ids);               // [T, hidden]
    Tensor x = op.workspace().allocate(DType::kF32, residual.shape);  // [T, hidden]
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      const Workspace::Mark mark(op.workspace());
      finish_layer(op, layers_[i], attend(op, i, x, residual, batch, caches[i]), x, residual);
    }
    const std::size_t last = layers_.size() - 1;
    Tensor a = attend(op, last, x, residual, batch, caches[last]);  // [T, Hq*D]
    a = op.gather_rows(a, batch.logits_rows);                       // [R, Hq*D]
    residual = op.gather_rows(residual, batch.logits_rows);         // [R, hidden]
    x = op.workspace().allocate(DType::kF32, residual.shape);       // [R, hidden]
    finish_layer(op, layers_[last], a, x, residual);
    return head_.logits(op, x, residual);  // [R, V]
  }

  static Result<std::unique_ptr<Model>> load(const ModelSource& source, const ModelConfig& config) {
    auto model = std::make_unique<LlamaModel>();
    WeightLoader load(source.checkpoint, source.backend, source.rank);
    PLUMB_ASSIGN(
        const RopeTable table,
        make_rope_table(config.rope, config.max_context_len,
                        load.host_vector({"rope_freqs.weight", ""}, config.rope.rotary_dim / 2)));
    model->rotation_ = load_rotation(load, table, config.rope.style);
    model->head_ = load_head(load, config);
    model->eps_ = static_cast<float>(config.rms_norm_eps);
    for (std::int64_t i = 0; i < config.num_layers; ++i) {
      model->layers_.push_back(model->load_layer(load, i, config));
    }
    PLUMB_RETURN_IF_ERROR(load.finish());
    model->facts_ = make_facts(config, load);
    model->layout_ = make_kv_layout(config, source);
    return std::unique_ptr<Model>(std::move(model));
  }

 private:
  // Norm and attention of layer i: residual += x -> heads [T, Hq*D].
  Tensor attend(OpContext& op, std::size_t i, const Tensor& x, const Tensor& residual,
                const ModelBatch& batch, const KvLayerCache& cache) const {
    const LlamaLayer& layer = layers_[i];
    const Tensor h =
        i == 0 ? op.rms_norm(residual, layer.attn_norm.tensor, eps_)
               : op.add_rms_norm(x, residual, layer.attn_norm.tensor, eps_);  // [T, hidden]
    return layer.attn.attend(op, h, batch, cache);
  }

  // Output projection and feed-forward: heads a -> x, residual += the projection.
  void finish_layer(OpContext& op, const LlamaLayer& layer, const Tensor& a, const Tensor& x,
                    const Tensor& residual) const {
    op.linear_into(a, layer.attn.wo, x);                                         // [T, hidden]
    const Tensor h = op.add_rms_norm(x, residual, layer.ffn_norm.tensor, eps_);  // [T, hidden]
    layer.mlp.forward(op, h, x);
  }

  LlamaLayer load_layer(WeightLoader& load, std::int64_t i, const ModelConfig& config) const {
    LlamaLayer layer;
    layer.attn_norm = load.vector(layer_tensor(i, "attn_norm.weight", "input_layernorm.weight"),
                                  config.hidden_size);
    layer.attn = load_attention(load, i, config);
    layer.attn.rotation = &rotation_;
    if (!config.is_window_layer.empty() && config.is_window_layer[static_cast<std::size_t>(i)]) {
      layer.attn.window = config.sliding_window;
    }
    load_biases(load, i, config, &layer.attn);
    if (config.family == "qwen3") {
      load_head_norms(load, i, config, &layer.attn);
    }
    layer.ffn_norm = load.vector(
        layer_tensor(i, "ffn_norm.weight", "post_attention_layernorm.weight"), config.hidden_size);
    layer.mlp = load_mlp(load, i, config);
    return layer;
  }

  HeadBlock head_;
  std::vector<LlamaLayer> layers_;
  Rotation rotation_;
  float eps_ = 1e-5F;
  ModelFacts facts_;
  KvLayout layout_;
};

}  // namespace

Result<std::unique_ptr<Model>> load_llama(const ModelSource& source, const ModelConfig& config) {
  return LlamaModel::load(source, config);
}

}  // namespace plumb
