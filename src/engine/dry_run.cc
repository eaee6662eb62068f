// SPDX-License-Identifier: Apache-2.0
#include "engine/dry_run.h"

#include <algorithm>

#include "ops/cost_stream.h"

namespace plumb {
namespace {

Tensor ints(const Shape& shape) {
  return Tensor::dense(nullptr, DType::kI32, shape);
}

std::vector<KvLayerCache> null_caches(const KvLayout& layout) {
  std::vector<KvLayerCache> caches;
  for (const KvGroup& group : layout.groups) {
    const Tensor cache = Tensor::dense(nullptr, group.dtype,
                                       {1, group.num_kv_heads, layout.block_size, group.head_dim});
    for (const int layer : group.layers) {
      const auto index = static_cast<std::size_t>(layer);
      caches.resize(std::max(caches.size(), index + 1));
      caches[index] = {cache, cache};
    }
  }
  return caches;
}

}  // namespace

std::int64_t argmax_bytes(std::int64_t num_logits) {
  constexpr std::int64_t kAlign = 64;
  const std::int64_t one = (num_logits * 4 + kAlign - 1) / kAlign * kAlign;
  return 2 * one + kAlign;
}

DryRun dry_run(const Model& model, const OpTable& meta_ops, const StepSizes& sizes,
               std::int64_t max_context_len) {
  DryRun result;
  CostStream stream;
  const std::vector<KvLayerCache> caches = null_caches(model.kv_layout());
  for (const std::int64_t num_tokens : {sizes.num_tokens, sizes.num_seqs}) {
    Workspace workspace = Workspace::measure();
    OpContext op(meta_ops, workspace, stream);
    ModelBatch batch;
    batch.token_ids = ints({num_tokens});
    batch.positions = ints({num_tokens});
    batch.full = {ints({num_tokens}), ints({sizes.num_seqs, sizes.num_blocks})};
    batch.windowed = batch.full;
    batch.context_lens = ints({sizes.num_seqs});
    batch.cu_seqlens_q = ints({sizes.num_seqs + 1});
    batch.logits_rows = ints({std::min(sizes.num_logits, num_tokens)});
    batch.max_context_len = max_context_len;
    model.forward(op, batch, caches);
    result.workspace_bytes =
        std::max(result.workspace_bytes, workspace.peak_bytes() + argmax_bytes(sizes.num_logits));
  }
  for (const OpCost& cost : stream.costs()) {
    result.ops.push_back(cost.op);
  }
  return result;
}

}  // namespace plumb
