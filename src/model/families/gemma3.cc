// SPDX-License-Identifier: Apache-2.0
#include "model/families/gemma3.h"

#include <utility>

#include "model/blocks/attention.h"
#include "model/blocks/decoder.h"
#include "model/blocks/kv_groups.h"
#include "model/blocks/mlp.h"

namespace plumb {
namespace {

struct Gemma3Layer {
  Parameter attn_norm;
  AttentionBlock attn;
  Parameter post_attn_norm;
  Parameter ffn_norm;
  MlpBlock mlp;
  Parameter post_ffn_norm;
};

// Sandwich norms: what a block puts out is normed before it becomes part of the residual.
class Gemma3Model final : public Decoder<Gemma3Layer> {
 public:
  static Result<std::unique_ptr<Model>> load(const ModelSource& source, const ModelConfig& config) {
    auto model = std::make_unique<Gemma3Model>();
    WeightLoader load(source.checkpoint, source.backend, source.rank);
    PLUMB_ASSIGN(const RopeTable global, make_rope_table(config.rope, config.max_context_len, {}));
    PLUMB_ASSIGN(const RopeTable local,
                 make_rope_table(config.local_rope, config.max_context_len, {}));
    model->global_rotation_ = load_rotation(load, global, config.rope.style);
    model->local_rotation_ = load_rotation(load, local, config.local_rope.style);
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
  void finish_layer(OpContext& op, const Gemma3Layer& layer, const Tensor& a, const Tensor& x,
                    const Tensor& residual) const override {
    op.linear_into(a, layer.attn.wo, x);  // [T, hidden]
    op.rms_norm_in_place(x, layer.post_attn_norm.tensor, eps_);
    const Tensor h = op.add_rms_norm(x, residual, layer.ffn_norm.tensor, eps_);  // [T, hidden]
    layer.mlp.forward(op, h, x);
    op.rms_norm_in_place(x, layer.post_ffn_norm.tensor, eps_);
  }

  Gemma3Layer load_layer(WeightLoader& load, std::int64_t i, const ModelConfig& config) const {
    const auto norm = [&](const char* gguf, const char* hf) {
      return load.vector(layer_tensor(i, gguf, hf), config.hidden_size, ShardKind::kReplicate,
                         config.norm_weight_offset);
    };
    const bool is_local = config.is_window_layer[static_cast<std::size_t>(i)];
    Gemma3Layer layer;
    layer.attn_norm = norm("attn_norm.weight", "input_layernorm.weight");
    layer.attn = load_attention(load, i, config);
    layer.attn.rotation = is_local ? &local_rotation_ : &global_rotation_;
    layer.attn.window = is_local ? config.sliding_window : 0;
    load_head_norms(load, i, config, &layer.attn);
    layer.post_attn_norm = norm("post_attention_norm.weight", "post_attention_layernorm.weight");
    layer.ffn_norm = norm("ffn_norm.weight", "pre_feedforward_layernorm.weight");
    layer.mlp = load_mlp(load, i, config);
    layer.post_ffn_norm = norm("post_ffw_norm.weight", "post_feedforward_layernorm.weight");
    return layer;
  }

  Rotation global_rotation_;
  Rotation local_rotation_;
};

}  // namespace

Result<std::unique_ptr<Model>> load_gemma3(const ModelSource& source, const ModelConfig& config) {
  return Gemma3Model::load(source, config);
}

}  // namespace plumb
