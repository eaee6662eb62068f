// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <utility>

#include "engine/embedding_model.h"
#include "engine/embedding_pass.h"
#include "engine/kv_cache.h"
#include "engine/step_batch.h"

namespace plumb {
namespace {

class DecoderEmbedding final : public EmbeddingModel {
 public:
  DecoderEmbedding(std::unique_ptr<Model> model, Pooling pooling,
                   const EmbeddingBatchLimits& limits, std::unique_ptr<KvCache> cache,
                   StepBatch batch, EmbeddingPass pass)
      : model_(std::move(model)),
        pooling_(pooling),
        limits_(limits),
        cache_(std::move(cache)),
        batch_(std::move(batch)),
        pass_(std::move(pass)) {}

  const ModelFacts& facts() const override { return model_->facts(); }

  const EmbeddingBatchLimits& limits() const override { return limits_; }

  Result<std::vector<std::vector<float>>> embed(
      std::span<const std::span<const TokenId>> sequences) override {
    batch_.clear();
    std::int64_t next_block = 0;
    // Tables that the batch refers to until it is uploaded.
    std::vector<std::vector<BlockId>> tables;
    tables.reserve(sequences.size());
    for (const std::span<const TokenId> sequence : sequences) {
      std::vector<BlockId>& table = tables.emplace_back();
      for (std::int64_t i = num_blocks_for(std::ssize(sequence), cache_->block_size()); i > 0;
           --i) {
        table.push_back(static_cast<BlockId>(next_block++));
      }
      batch_.add_seq(sequence, 0, table, table);
      const bool wants_all = pooling_ == Pooling::kMean;
      const std::int64_t first = pooling_ == Pooling::kLast ? std::ssize(sequence) - 1 : 0;
      const std::int64_t end = wants_all ? std::ssize(sequence) : first + 1;
      for (std::int64_t row = first; row < end; ++row) {
        batch_.want_logits(row);
      }
    }
    ModelBatch batch = batch_.upload(pass_.stream());
    batch.wants_hidden = true;
    return pass_.run(
        [&](OpContext& op) { return forward(*model_, pooling_, op, batch, cache_->layers()); });
  }

  static Tensor forward(const Model& model, Pooling pooling, OpContext& op, const ModelBatch& batch,
                        std::span<const KvLayerCache> caches) {
    const Tensor hidden = model.forward(op, batch, caches);  // [R, hidden]
    // Of one row a sequence there is nothing to pool.
    return pooling == Pooling::kMean ? op.pool(hidden, batch.cu_seqlens_q, pooling)  // [B, hidden]
                                     : hidden;
  }

 private:
  std::unique_ptr<Model> model_;
  Pooling pooling_;
  EmbeddingBatchLimits limits_;
  std::unique_ptr<KvCache> cache_;
  StepBatch batch_;
  EmbeddingPass pass_;
};

Tensor null_tensor(const Shape& shape) {
  return Tensor::dense(nullptr, DType::kI32, shape);
}

ModelBatch largest_batch(const StepSizes& sizes, std::int64_t max_context_len) {
  ModelBatch batch;
  batch.token_ids = null_tensor({sizes.num_tokens});
  batch.positions = null_tensor({sizes.num_tokens});
  batch.full = {null_tensor({sizes.num_tokens}), null_tensor({sizes.num_seqs, sizes.num_blocks})};
  batch.windowed = batch.full;
  batch.context_lens = null_tensor({sizes.num_seqs});
  batch.cu_seqlens_q = null_tensor({sizes.num_seqs + 1});
  batch.logits_rows = null_tensor({sizes.num_logits});
  batch.max_context_len = max_context_len;
  batch.wants_hidden = true;
  return batch;
}

}  // namespace

Result<std::unique_ptr<EmbeddingModel>> make_decoder_embedding(std::unique_ptr<Model> model,
                                                               Pooling pooling,
                                                               const EmbeddingBackend& backend,
                                                               const EmbeddingBatchLimits& limits) {
  const KvLayout layout = model->kv_layout();
  StepSizes sizes;
  sizes.num_tokens = limits.num_tokens;
  sizes.num_seqs = limits.num_sequences;
  sizes.num_logits = pooling == Pooling::kMean ? limits.num_tokens : limits.num_sequences;
  const std::int64_t longest = std::min(limits.num_tokens, model->facts().max_context_len);
  sizes.num_blocks = num_blocks_for(longest, layout.block_size);
  sizes.has_window = layout.window() > 0;
  // Every sequence may leave a part of its last block unused.
  const std::int64_t num_blocks =
      num_blocks_for(limits.num_tokens, layout.block_size) + limits.num_sequences;
  KvCache::Options options;
  options.num_blocks = num_blocks;
  options.num_window_blocks = sizes.has_window ? num_blocks : 0;
  options.prefix_cache = false;
  PLUMB_ASSIGN(std::unique_ptr<KvCache> cache,
               KvCache::create(layout, options, backend.backend->allocator()));
  PLUMB_ASSIGN(StepBatch batch, StepBatch::create(sizes, layout.block_size, backend.backend));
  PLUMB_ASSIGN(EmbeddingPass pass, EmbeddingPass::create(backend, [&](OpContext& op) {
                 return DecoderEmbedding::forward(*model, pooling, op,
                                                  largest_batch(sizes, longest), cache->layers());
               }));
  return std::unique_ptr<EmbeddingModel>(std::make_unique<DecoderEmbedding>(
      std::move(model), pooling, limits, std::move(cache), std::move(batch), std::move(pass)));
}

}  // namespace plumb
