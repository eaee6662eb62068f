// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/kv_groups.h"

namespace plumb {

KvLayout make_kv_layout(const ModelConfig& config, const ModelSource& source) {
  KvGroup full;
  full.num_kv_heads = config.num_kv_heads / source.rank.num_ranks;
  full.head_dim = config.head_dim;
  full.dtype = source.kv_dtype;
  KvGroup window = full;
  window.window = config.sliding_window;
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const bool is_window =
        !config.is_window_layer.empty() && config.is_window_layer[static_cast<std::size_t>(i)];
    (is_window ? window : full).layers.push_back(static_cast<int>(i));
  }
  KvLayout layout;
  layout.block_size = source.block_size;
  for (KvGroup* group : {&full, &window}) {
    if (!group->layers.empty()) {
      layout.groups.push_back(std::move(*group));
    }
  }
  return layout;
}

ModelFacts make_facts(const ModelConfig& config, const WeightLoader& load) {
  ModelFacts facts;
  facts.family = config.family;
  facts.name = config.name;
  facts.num_layers = config.num_layers;
  facts.hidden_size = config.hidden_size;
  facts.vocab_size = config.vocab_size;
  facts.max_context_len = config.max_context_len;
  facts.num_parameters = load.num_parameters();
  facts.weight_bytes = load.weight_bytes();
  return facts;
}

}  // namespace plumb
