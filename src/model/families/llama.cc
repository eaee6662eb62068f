// SPDX-License-Identifier: Apache-2.0
#include "model/families/llama.h"

#include <utility>

#include "model/blocks/attention.h"
#include "model/blocks/decoder.h"
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

class LlamaModel final : public Decoder<LlamaLayer> {
 public:
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
  void finish_layer(OpContext& op, const LlamaLayer& layer, const Tensor& a, const Tensor& x,
                    const Tensor& residual) const override {
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

  Rotation rotation_;
};

}  // namespace

Result<std::unique_ptr<Model>> load_llama(const ModelSource& source, const ModelConfig& config) {
  return LlamaModel::load(source, config);
}

}  // namespace plumb
