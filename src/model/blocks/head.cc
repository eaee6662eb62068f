// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/head.h"

namespace plumb {

Tensor HeadBlock::logits(OpContext& op, const Tensor& x, const Tensor& residual) const {
  const Tensor h = hidden(op, x, residual);                  // [R, hidden]
  return op.linear(h, output.empty() ? embedding : output);  // [R, V]
}

HeadBlock load_head(WeightLoader& load, const ModelConfig& config) {
  HeadBlock block;
  block.embedding = load.matrix({"token_embd.weight", "model.embed_tokens.weight"},
                                config.vocab_size, config.hidden_size, ShardKind::kReplicate);
  const TensorName output{"output.weight", "lm_head.weight"};
  block.output =
      config.needs_output_matrix
          ? load.matrix(output, config.vocab_size, config.hidden_size, ShardKind::kReplicate)
          : load.optional_matrix(output, config.vocab_size, config.hidden_size,
                                 ShardKind::kReplicate);
  block.norm = load.vector({"output_norm.weight", "model.norm.weight"}, config.hidden_size,
                           ShardKind::kReplicate, config.norm_weight_offset);
  block.eps = static_cast<float>(config.rms_norm_eps);
  block.embedding_scale = static_cast<float>(config.embedding_scale);
  return block;
}

}  // namespace plumb
