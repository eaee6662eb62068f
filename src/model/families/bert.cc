// SPDX-License-Identifier: Apache-2.0
#include "model/families/bert.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/weight_loader.h"

namespace plumb {
namespace {

/// y = x w^T + b
struct Dense {
  Weight weight;   ///< [out, in]
  Parameter bias;  ///< [out]

  Tensor forward(OpContext& op, const Tensor& x) const { return op.linear(x, weight, bias.tensor); }
};

/// Weight and bias of a LayerNorm.
struct Norm {
  Parameter weight;
  Parameter bias;

  /// x = layer_norm(x + residual)
  void apply(OpContext& op, const Tensor& x, const Tensor& residual, float eps) const {
    op.layer_norm_in_place(x, residual, weight.tensor, bias.tensor, eps);
  }
};

struct BertLayer {
  Dense query, key, value, attn_output;
  Norm attn_norm;
  Dense ffn_up, ffn_down;
  Norm ffn_norm;
};

class BertModel final : public Encoder {
 public:
  static Result<std::unique_ptr<Encoder>> load(Checkpoint& checkpoint, Backend& backend,
                                               const EncoderConfig& c, EncoderWeights weights) {
    auto model = std::make_unique<BertModel>();
    model->config_ = c;
    WeightLoader load(checkpoint, backend, {});
    const auto table = [&](const char* gguf, const std::string& hf, std::int64_t rows) {
      return load.matrix({gguf, "embeddings." + hf + ".weight"}, rows, c.hidden_size,
                         ShardKind::kReplicate);
    };
    model->words_ = table("token_embd.weight", "word_embeddings", c.vocab_size);
    model->positions_ = table("position_embd.weight", "position_embeddings", c.num_positions);
    model->types_ = table("token_types.weight", "token_type_embeddings", c.num_token_types);
    model->norm_ = norm(load, "token_embd_norm", "embeddings.LayerNorm", c.hidden_size);
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      model->layers_.push_back(layer(load, i, c, weights));
    }
    for (const char* unused :
         {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}) {
      load.ignore({"", unused});
    }
    PLUMB_RETURN_IF_ERROR(load.finish());
    model->facts_ = {.family = c.family,
                     .name = c.name,
                     .num_layers = c.num_layers,
                     .hidden_size = c.hidden_size,
                     .vocab_size = c.vocab_size,
                     .max_context_len = c.max_context_len,
                     .num_parameters = load.num_parameters(),
                     .weight_bytes = load.weight_bytes()};
    return std::unique_ptr<Encoder>(std::move(model));
  }

  const ModelFacts& facts() const override { return facts_; }

  Pooling pooling() const override { return config_.pooling; }

  Tensor forward(OpContext& op, const EncoderBatch& batch) const override {
    const auto eps = static_cast<float>(config_.layer_norm_eps);
    const Tensor x = op.embedding(batch.token_ids, words_);  // [T, hidden]
    {
      const Workspace::Mark mark(op.workspace());
      op.add_into(op.embedding(batch.positions, positions_), x);
      norm_.apply(op, x, op.embedding(batch.token_types, types_), eps);
    }
    for (const BertLayer& layer : layers_) {
      const Workspace::Mark mark(op.workspace());
      const Tensor a = attend(op, layer, x, batch.cu_seqlens);  // [T, hidden]
      layer.attn_norm.apply(op, x, layer.attn_output.forward(op, a), eps);
      const Tensor h = layer.ffn_up.forward(op, x);  // [T, intermediate]
      op.gelu_in_place(h, config_.activation);
      layer.ffn_norm.apply(op, x, layer.ffn_down.forward(op, h), eps);
    }
    return x;
  }

 private:
  Tensor attend(OpContext& op, const BertLayer& layer, const Tensor& x,
                const Tensor& cu_seqlens) const {
    std::array<LinearOutput, 3> qkv{{{&layer.query.weight, {}, layer.query.bias.tensor},
                                     {&layer.key.weight, {}, layer.key.bias.tensor},
                                     {&layer.value.weight, {}, layer.value.bias.tensor}}};
    op.linear_many(x, qkv);  // [T, hidden] each
    const std::int64_t head_dim = config_.hidden_size / config_.num_heads;
    const Shape heads{x.dim(0), config_.num_heads, head_dim};
    return op.varlen_attention(qkv[0].y.reshaped(heads), qkv[1].y.reshaped(heads),
                               qkv[2].y.reshaped(heads), cu_seqlens,
                               1.0F / std::sqrt(static_cast<float>(head_dim)));
  }

  static Norm norm(WeightLoader& load, const std::string& gguf, const std::string& hf,
                   std::int64_t n) {
    return {load.vector({gguf + ".weight", hf + ".weight"}, n),
            load.vector({gguf + ".bias", hf + ".bias"}, n)};
  }

  static BertLayer layer(WeightLoader& load, std::int64_t index, const EncoderConfig& c,
                         EncoderWeights weights) {
    const auto dense = [&](const std::string& gguf, const std::string& hf, std::int64_t out,
                           std::int64_t in) -> Dense {
      const TensorName name{gguf + ".weight", hf + ".weight"};
      return {weights == EncoderWeights::kRounded
                  ? load.rounded_matrix(name, out, in, ShardKind::kReplicate)
                  : load.matrix(name, out, in, ShardKind::kReplicate),
              load.vector({gguf + ".bias", hf + ".bias"}, out)};
    };
    const std::string gguf = "blk." + std::to_string(index) + ".";
    const std::string hf = "encoder.layer." + std::to_string(index) + ".";
    const std::int64_t n = c.hidden_size;
    BertLayer layer;
    layer.query = dense(gguf + "attn_q", hf + "attention.self.query", n, n);
    layer.key = dense(gguf + "attn_k", hf + "attention.self.key", n, n);
    layer.value = dense(gguf + "attn_v", hf + "attention.self.value", n, n);
    layer.attn_output = dense(gguf + "attn_output", hf + "attention.output.dense", n, n);
    layer.attn_norm = norm(load, gguf + "attn_output_norm", hf + "attention.output.LayerNorm", n);
    layer.ffn_up = dense(gguf + "ffn_up", hf + "intermediate.dense", c.intermediate_size, n);
    layer.ffn_down = dense(gguf + "ffn_down", hf + "output.dense", n, c.intermediate_size);
    layer.ffn_norm = norm(load, gguf + "layer_output_norm", hf + "output.LayerNorm", n);
    return layer;
  }

  EncoderConfig config_;
  ModelFacts facts_;
  Weight words_;      ///< [V, hidden]
  Weight positions_;  ///< [positions, hidden]
  Weight types_;      ///< [types, hidden]
  Norm norm_;
  std::vector<BertLayer> layers_;
};

}  // namespace

Result<std::unique_ptr<Encoder>> load_bert(Checkpoint& checkpoint, Backend& backend,
                                           const EncoderConfig& config, EncoderWeights weights) {
  return BertModel::load(checkpoint, backend, config, weights);
}

}  // namespace plumb
