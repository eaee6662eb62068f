// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/model.h"
#include "model/model_config.h"
#include "model/rope_table.h"
#include "model/weight_loader.h"
#include "ops/op_context.h"

namespace plumb {

/// Rotation of one kind of layer, on the device.
struct Rotation {
  Parameter inv_freq;  ///< [rotary_dim / 2]
  RopeStyle style = RopeStyle::kHalfSplit;
  float magnitude = 1.0F;
};

Rotation load_rotation(WeightLoader& load, const RopeTable& table, RopeStyle style);

/// Grouped-query attention with rotary positions; optional biases and per-head norms of q and k.
struct AttentionBlock {
  Weight wq;                      ///< [Hq*D, hidden]
  Weight wk;                      ///< [Hkv*D, hidden]
  Weight wv;                      ///< [Hkv*D, hidden]
  Weight wo;                      ///< [hidden, Hq*D]
  Parameter bq, bk, bv;           ///< optional
  Parameter q_norm, k_norm;       ///< optional, [D]
  std::int64_t num_q_heads = 0;   ///< of this rank
  std::int64_t num_kv_heads = 0;  ///< of this rank
  std::int64_t head_dim = 0;
  float scale = 1.0F;
  float eps = 1e-6F;
  std::int64_t window = 0;
  const Rotation* rotation = nullptr;

  /// x [T, hidden] -> heads [T, Hq*D]; writes keys and values of the step to the cache.
  Tensor attend(OpContext& op, const Tensor& x, const ModelBatch& batch,
                const KvLayerCache& cache) const;
};

/// The projections of layer i and its numbers; heads are split over the ranks. Norms, biases and
/// rotation are the family's business.
AttentionBlock load_attention(WeightLoader& load, std::int64_t layer, const ModelConfig& config);

/// Optional biases of q, k and v (Qwen2; some Llama checkpoints have them too).
void load_biases(WeightLoader& load, std::int64_t layer, const ModelConfig& config,
                 AttentionBlock* block);

/// The norms over each head of q and k (Qwen3, Gemma 3).
void load_head_norms(WeightLoader& load, std::int64_t layer, const ModelConfig& config,
                     AttentionBlock* block);

/// "blk.3.attn_q.weight" and "model.layers.3.self_attn.q_proj.weight" from 3, "attn_q.weight",
/// "self_attn.q_proj.weight".
TensorName layer_tensor(std::int64_t layer, const char* gguf, const char* hf);

}  // namespace plumb
