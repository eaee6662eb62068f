// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/mlp.h"

#include <array>

#include "model/blocks/attention.h"

namespace plumb {

void MlpBlock::forward(OpContext& op, const Tensor& x, const Tensor& y) const {
  std::array<LinearOutput, 2> gate_up{{{&gate, {}, {}}, {&up, {}, {}}}};
  op.linear_many(x, gate_up);                                       // [T, I] each
  const Tensor h = op.glu(gate_up[0].y, gate_up[1].y, activation);  // [T, I]
  op.linear_into(h, down, y);                                       // [T, hidden]
}

MlpBlock load_mlp(WeightLoader& load, std::int64_t layer, const ModelConfig& config) {
  MlpBlock block;
  block.gate = load.matrix(layer_tensor(layer, "ffn_gate.weight", "mlp.gate_proj.weight"),
                           config.intermediate_size, config.hidden_size, ShardKind::kColumns);
  block.up = load.matrix(layer_tensor(layer, "ffn_up.weight", "mlp.up_proj.weight"),
                         config.intermediate_size, config.hidden_size, ShardKind::kColumns);
  block.down = load.matrix(layer_tensor(layer, "ffn_down.weight", "mlp.down_proj.weight"),
                           config.hidden_size, config.intermediate_size, ShardKind::kRows);
  block.activation = config.activation;
  return block;
}

}  // namespace plumb
