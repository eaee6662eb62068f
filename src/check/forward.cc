// SPDX-License-Identifier: Apache-2.0
#include "check/forward.h"

#include <algorithm>
#include <numeric>

namespace plumb {

// The index arrays of one chunk. They are host memory: a device back end would need them copied,
// see run().
struct Forward::HostBatch {
  std::vector<std::int32_t> token_ids, positions, slots, rows;
  std::vector<std::int32_t> context_lens{0};
  std::vector<std::int32_t> cu_seqlens{0, 0};

  HostBatch(std::span<const TokenId> ids, std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      token_ids.push_back(ids.empty() ? 0 : ids[static_cast<std::size_t>(begin + i)]);
      positions.push_back(static_cast<std::int32_t>(begin + i));
      slots.push_back(static_cast<std::int32_t>(begin + i));
      rows.push_back(static_cast<std::int32_t>(i));
    }
    context_lens[0] = static_cast<std::int32_t>(begin + count);
    cu_seqlens[1] = static_cast<std::int32_t>(count);
  }

  static Tensor vector(std::vector<std::int32_t>& v, bool is_dry) {
    return Tensor::dense(is_dry ? nullptr : v.data(), DType::kI32,
                         {static_cast<std::int64_t>(v.size())});
  }

  ModelBatch view(std::vector<std::int32_t>& block_table, bool is_dry) {
    ModelBatch batch;
    batch.token_ids = vector(token_ids, is_dry);
    batch.positions = vector(positions, is_dry);
    batch.full = {vector(slots, is_dry),
                  Tensor::dense(is_dry ? nullptr : block_table.data(), DType::kI32,
                                {1, static_cast<std::int64_t>(block_table.size())})};
    batch.windowed = batch.full;
    batch.context_lens = vector(context_lens, is_dry);
    batch.cu_seqlens_q = vector(cu_seqlens, is_dry);
    batch.logits_rows = vector(rows, is_dry);
    batch.max_context_len = context_lens[0];
    return batch;
  }
};

Forward::Forward(const Model& model, Backend& backend, const OpTable& ops, std::int64_t chunk)
    : model_(model), backend_(backend), ops_(ops), chunk_(chunk), stream_(backend.new_stream()) {}

Result<std::unique_ptr<Forward>> Forward::create(const Model& model, Backend& backend,
                                                 const OpTable& ops, Backend& meta,
                                                 std::int64_t max_len, std::int64_t chunk) {
  std::unique_ptr<Forward> forward(new Forward(model, backend, ops, chunk));
  PLUMB_RETURN_IF_ERROR(forward->reserve(meta, max_len));
  return forward;
}

Status Forward::reserve(Backend& meta, std::int64_t max_len) {
  const KvLayout layout = model_.kv_layout();
  const std::int64_t num_blocks = (max_len + layout.block_size - 1) / layout.block_size;
  block_table_.resize(static_cast<std::size_t>(num_blocks));
  std::iota(block_table_.begin(), block_table_.end(), 0);
  caches_.resize(static_cast<std::size_t>(model_.facts().num_layers));
  for (const KvGroup& group : layout.groups) {
    const Shape shape{num_blocks, group.num_kv_heads, layout.block_size, group.head_dim};
    const std::int64_t num_bytes = shape.num_elements() * traits(group.dtype).block_bytes;
    for (const int layer : group.layers) {
      for (Tensor KvLayerCache::*part : {&KvLayerCache::k, &KvLayerCache::v}) {
        PLUMB_ASSIGN(Buffer buffer, backend_.allocator().allocate(num_bytes));
        caches_[static_cast<std::size_t>(layer)].*part =
            Tensor::dense(buffer.address(), group.dtype, shape);
        storage_.push_back(std::move(buffer));
      }
    }
  }
  Workspace dry = Workspace::measure();
  const std::unique_ptr<Stream> dry_stream = meta.new_stream();
  OpContext op(meta.ops(), dry, *dry_stream);
  HostBatch host({}, max_len - std::min(chunk_, max_len), std::min(chunk_, max_len));
  model_.forward(op, host.view(block_table_, true), caches_);
  workspace_bytes_ = dry.peak_bytes();
  PLUMB_ASSIGN(Workspace workspace, Workspace::create(backend_.allocator(), workspace_bytes_));
  workspace_ = std::make_unique<Workspace>(std::move(workspace));
  return {};
}

Status Forward::run(std::span<const TokenId> ids,
                    const std::function<void(std::int64_t, std::span<const float>)>& on_logits) {
  const auto total = static_cast<std::int64_t>(ids.size());
  for (std::int64_t begin = 0; begin < total; begin += chunk_) {
    const std::int64_t count = std::min(chunk_, total - begin);
    HostBatch host(ids, begin, count);
    const Workspace::Mark mark(*workspace_);
    OpContext op(ops_, *workspace_, *stream_);
    const Tensor logits =
        model_.forward(op, host.view(block_table_, false), caches_);  // [count, V]
    PLUMB_RETURN_IF_ERROR(stream_->synchronize());
    for (std::int64_t i = 0; i < count; ++i) {
      on_logits(begin + i, {logits.row<const float>(i), static_cast<std::size_t>(logits.dim(1))});
    }
  }
  return {};
}

}  // namespace plumb
