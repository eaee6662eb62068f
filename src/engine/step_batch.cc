// SPDX-License-Identifier: Apache-2.0
#include "engine/step_batch.h"

#include <algorithm>
#include <string>

namespace plumb {

StepBatch::StepBatch(const StepSizes& sizes, std::int64_t block_size, Backend* device)
    : sizes_(sizes), block_size_(block_size), device_(device) {
  std::int64_t end = 0;
  const auto place = [&end](std::int64_t count) {
    constexpr std::int64_t kAlign = 16;  // 64 bytes
    const std::int64_t begin = end;
    end += (count + kAlign - 1) / kAlign * kAlign;
    return begin;
  };
  arrays_.token_ids = place(sizes.num_tokens);
  arrays_.positions = place(sizes.num_tokens);
  arrays_.slots = place(sizes.num_tokens);
  arrays_.cu_seqlens = place(sizes.num_seqs + 1);
  arrays_.context_lens = place(sizes.num_seqs);
  arrays_.logits_rows = place(sizes.num_logits);
  arrays_.block_table = place(sizes.num_seqs * sizes.num_blocks);
  arrays_.end = end;
  host_.resize(static_cast<std::size_t>(end));
  tables_.reserve(static_cast<std::size_t>(sizes.num_seqs));
}

Result<StepBatch> StepBatch::create(const StepSizes& sizes, std::int64_t block_size,
                                    Backend* device) {
  StepBatch batch(sizes, block_size, device);
  if (device != nullptr) {
    PLUMB_ASSIGN(batch.device_memory_,
                 device->allocator().allocate(batch.arrays_.end *
                                              static_cast<std::int64_t>(sizeof(std::int32_t))));
  }
  batch.clear();
  return batch;
}

void StepBatch::clear() {
  num_tokens_ = num_seqs_ = num_logits_ = max_context_len_ = max_blocks_ = 0;
  tables_.clear();
  *at(arrays_.cu_seqlens) = 0;
}

void StepBatch::add_seq(std::span<const TokenId> tokens, std::int64_t position,
                        std::span<const BlockId> blocks) {
  const std::int64_t count = std::ssize(tokens);
  PLUMB_CHECK(num_tokens_ + count <= sizes_.num_tokens && num_seqs_ < sizes_.num_seqs,
              "a step of more than " + std::to_string(sizes_.num_tokens) + " tokens or " +
                  std::to_string(sizes_.num_seqs) + " sequences");
  std::copy(tokens.begin(), tokens.end(), at(arrays_.token_ids + num_tokens_));
  std::int32_t* positions = at(arrays_.positions + num_tokens_);
  std::int32_t* slots = at(arrays_.slots + num_tokens_);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at_position = position + i;
    const auto block =
        static_cast<std::int64_t>(blocks[static_cast<std::size_t>(at_position / block_size_)]);
    positions[i] = static_cast<std::int32_t>(at_position);
    slots[i] = static_cast<std::int32_t>(block * block_size_ + at_position % block_size_);
  }
  const std::int64_t context_len = position + count;
  const std::int64_t num_blocks = num_blocks_for(context_len, block_size_);
  tables_.push_back(blocks.first(static_cast<std::size_t>(num_blocks)));
  *at(arrays_.context_lens + num_seqs_) = static_cast<std::int32_t>(context_len);
  num_tokens_ += count;
  ++num_seqs_;
  *at(arrays_.cu_seqlens + num_seqs_) = static_cast<std::int32_t>(num_tokens_);
  max_context_len_ = std::max(max_context_len_, context_len);
  max_blocks_ = std::max(max_blocks_, num_blocks);
}

void StepBatch::want_logits(std::int64_t row_of_seq) {
  PLUMB_CHECK(num_logits_ < sizes_.num_logits, "a step with too many rows of logits");
  const std::int32_t first = *at(arrays_.cu_seqlens + num_seqs_ - 1);
  *at(arrays_.logits_rows + num_logits_) = first + static_cast<std::int32_t>(row_of_seq);
  ++num_logits_;
}

// Rows as wide as the longest sequence of the step; what a shorter one leaves is never read.
void StepBatch::lay_out_block_table() {
  std::int32_t* row = at(arrays_.block_table);
  for (const std::span<const BlockId> table : tables_) {
    std::transform(table.begin(), table.end(), row,
                   [](BlockId id) { return static_cast<std::int32_t>(id); });
    std::fill(row + table.size(), row + max_blocks_, 0);
    row += max_blocks_;
  }
}

Tensor StepBatch::view(std::int64_t offset, const Shape& shape, Stream& stream) {
  if (device_ == nullptr) {
    return Tensor::dense(at(offset), DType::kI32, shape);
  }
  auto* target = static_cast<std::int32_t*>(device_memory_.address()) + offset;
  device_->copy(target, at(offset),
                shape.num_elements() * static_cast<std::int64_t>(sizeof(std::int32_t)), stream);
  return Tensor::dense(target, DType::kI32, shape);
}

ModelBatch StepBatch::upload(Stream& stream) {
  lay_out_block_table();
  ModelBatch batch;
  batch.token_ids = view(arrays_.token_ids, {num_tokens_}, stream);
  batch.positions = view(arrays_.positions, {num_tokens_}, stream);
  batch.slot_mapping = view(arrays_.slots, {num_tokens_}, stream);
  batch.cu_seqlens_q = view(arrays_.cu_seqlens, {num_seqs_ + 1}, stream);
  batch.context_lens = view(arrays_.context_lens, {num_seqs_}, stream);
  batch.logits_rows = view(arrays_.logits_rows, {num_logits_}, stream);
  batch.block_table = view(arrays_.block_table, {num_seqs_, max_blocks_}, stream);
  batch.max_context_len = max_context_len_;
  return batch;
}

}  // namespace plumb
