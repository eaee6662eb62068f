// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/attention.h"

#include <array>
#include <string>

namespace plumb {

Rotation load_rotation(WeightLoader& load, const RopeTable& table, RopeStyle style) {
  return {load.parameter(table.inv_freq), style, table.magnitude};
}

Tensor AttentionBlock::attend(OpContext& op, const Tensor& x, const ModelBatch& batch,
                              const KvLayerCache& cache) const {
  const std::int64_t num_tokens = x.dim(0);
  std::array<LinearOutput, 3> qkv{
      {{&wq, {}, bq.tensor}, {&wk, {}, bk.tensor}, {&wv, {}, bv.tensor}}};
  op.linear_many(x, qkv);                                                    // [T, H*D] each
  const Tensor q = qkv[0].y.reshaped({num_tokens, num_q_heads, head_dim});   // [T, Hq, D]
  const Tensor k = qkv[1].y.reshaped({num_tokens, num_kv_heads, head_dim});  // [T, Hkv, D]
  const Tensor v = qkv[2].y.reshaped({num_tokens, num_kv_heads, head_dim});  // [T, Hkv, D]
  if (q_norm.present()) {
    op.rms_norm_in_place(q.reshaped({num_tokens * num_q_heads, head_dim}), q_norm.tensor, eps);
    op.rms_norm_in_place(k.reshaped({num_tokens * num_kv_heads, head_dim}), k_norm.tensor, eps);
  }
  op.rope(q, batch.positions, rotation->inv_freq.tensor, rotation->style, rotation->magnitude);
  op.rope(k, batch.positions, rotation->inv_freq.tensor, rotation->style, rotation->magnitude);
  const KvPlaces& places = batch.places(window);
  op.kv_append({k, v, places.slot_mapping, cache.k, cache.v});
  PagedAttention args;
  args.q = q;
  args.k_cache = cache.k;
  args.v_cache = cache.v;
  args.block_table = places.block_table;
  args.context_lens = batch.context_lens;
  args.cu_seqlens_q = batch.cu_seqlens_q;
  args.scale = scale;
  args.window = window;
  return op.paged_attention(args, batch.max_context_len);  // [T, Hq*D]
}

TensorName layer_tensor(std::int64_t layer, const char* gguf, const char* hf) {
  const std::string i = std::to_string(layer);
  return {"blk." + i + "." + gguf, "model.layers." + i + "." + hf};
}

AttentionBlock load_attention(WeightLoader& load, std::int64_t layer, const ModelConfig& config) {
  const std::int64_t q_rows = config.num_q_heads * config.head_dim;
  const std::int64_t kv_rows = config.num_kv_heads * config.head_dim;
  AttentionBlock block;
  block.wq = load.matrix(layer_tensor(layer, "attn_q.weight", "self_attn.q_proj.weight"), q_rows,
                         config.hidden_size, ShardKind::kColumns);
  block.wk = load.matrix(layer_tensor(layer, "attn_k.weight", "self_attn.k_proj.weight"), kv_rows,
                         config.hidden_size, ShardKind::kColumns);
  block.wv = load.matrix(layer_tensor(layer, "attn_v.weight", "self_attn.v_proj.weight"), kv_rows,
                         config.hidden_size, ShardKind::kColumns);
  block.wo = load.matrix(layer_tensor(layer, "attn_output.weight", "self_attn.o_proj.weight"),
                         config.hidden_size, q_rows, ShardKind::kRows);
  block.num_q_heads = config.num_q_heads / load.rank().num_ranks;
  block.num_kv_heads = config.num_kv_heads / load.rank().num_ranks;
  block.head_dim = config.head_dim;
  block.scale = static_cast<float>(config.attention_scale);
  block.eps = static_cast<float>(config.rms_norm_eps);
  return block;
}

void load_biases(WeightLoader& load, std::int64_t layer, const ModelConfig& config,
                 AttentionBlock* block) {
  const std::int64_t q_rows = config.num_q_heads * config.head_dim;
  const std::int64_t kv_rows = config.num_kv_heads * config.head_dim;
  block->bq = load.optional_vector(layer_tensor(layer, "attn_q.bias", "self_attn.q_proj.bias"),
                                   q_rows, ShardKind::kColumns);
  block->bk = load.optional_vector(layer_tensor(layer, "attn_k.bias", "self_attn.k_proj.bias"),
                                   kv_rows, ShardKind::kColumns);
  block->bv = load.optional_vector(layer_tensor(layer, "attn_v.bias", "self_attn.v_proj.bias"),
                                   kv_rows, ShardKind::kColumns);
}

void load_head_norms(WeightLoader& load, std::int64_t layer, const ModelConfig& config,
                     AttentionBlock* block) {
  block->q_norm = load.vector(layer_tensor(layer, "attn_q_norm.weight", "self_attn.q_norm.weight"),
                              config.head_dim, ShardKind::kReplicate, config.norm_weight_offset);
  block->k_norm = load.vector(layer_tensor(layer, "attn_k_norm.weight", "self_attn.k_norm.weight"),
                              config.head_dim, ShardKind::kReplicate, config.norm_weight_offset);
}

}  // namespace plumb
