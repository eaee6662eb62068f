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
  arrays_.cu_seqlens = place(sizes.num_seqs + 1);
  arrays_.context_lens = place(sizes.num_seqs);
  arrays_.logits_rows = place(sizes.num_logits);
  for (Places* places : {&full_, &windowed_}) {
    if (places == &full_ || sizes.has_window) {
      places->slots = place(sizes.num_tokens);
      places->block_table = place(sizes.num_seqs * sizes.num_blocks);
      places->tables.reserve(static_cast<std::size_t>(sizes.num_seqs));
    }
  }
  arrays_.end = end;
  host_.resize(static_cast<std::size_t>(end));
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
  full_.tables.clear();
  windowed_.tables.clear();
  is_laid_out_ = false;
  *at(arrays_.cu_seqlens) = 0;
}

void StepBatch::add_seq(std::span<const TokenId> tokens, std::int64_t position,
                        std::span<const BlockId> blocks, std::span<const BlockId> window_blocks) {
  const std::int64_t count = std::ssize(tokens);
  PLUMB_CHECK(num_tokens_ + count <= sizes_.num_tokens && num_seqs_ < sizes_.num_seqs,
              "a step of more than " + std::to_string(sizes_.num_tokens) + " tokens or " +
                  std::to_string(sizes_.num_seqs) + " sequences");
  std::copy(tokens.begin(), tokens.end(), at(arrays_.token_ids + num_tokens_));
  std::int32_t* positions = at(arrays_.positions + num_tokens_);
  for (std::int64_t i = 0; i < count; ++i) {
    positions[i] = static_cast<std::int32_t>(position + i);
  }
  add_places(position, count, blocks, &full_);
  if (sizes_.has_window) {
    add_places(position, count, window_blocks, &windowed_);
  }
  const std::int64_t context_len = position + count;
  *at(arrays_.context_lens + num_seqs_) = static_cast<std::int32_t>(context_len);
  num_tokens_ += count;
  ++num_seqs_;
  *at(arrays_.cu_seqlens + num_seqs_) = static_cast<std::int32_t>(num_tokens_);
  max_context_len_ = std::max(max_context_len_, context_len);
  max_blocks_ = std::max(max_blocks_, num_blocks_for(context_len, block_size_));
}

// Of the rows that come next: their slots, and the table of their sequence.
void StepBatch::add_places(std::int64_t position, std::int64_t count,
                           std::span<const BlockId> blocks, Places* places) {
  std::int32_t* slots = at(places->slots + num_tokens_);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t p = position + i;
    const auto block = static_cast<std::int64_t>(blocks[static_cast<std::size_t>(p / block_size_)]);
    slots[i] = static_cast<std::int32_t>(block * block_size_ + p % block_size_);
  }
  const std::int64_t num_blocks = num_blocks_for(position + count, block_size_);
  places->tables.push_back(blocks.first(static_cast<std::size_t>(num_blocks)));
}

void StepBatch::want_logits(std::int64_t row_of_seq) {
  PLUMB_CHECK(num_logits_ < sizes_.num_logits, "a step with too many rows of logits");
  const std::int32_t first = *at(arrays_.cu_seqlens + num_seqs_ - 1);
  *at(arrays_.logits_rows + num_logits_) = first + static_cast<std::int32_t>(row_of_seq);
  ++num_logits_;
}

// Rows as wide as the longest sequence of the step; what a shorter one leaves is never read.
void StepBatch::lay_out_block_table(Places* places) {
  std::int32_t* row = at(places->block_table);
  for (const std::span<const BlockId> table : places->tables) {
    std::transform(table.begin(), table.end(), row,
                   [](BlockId id) { return static_cast<std::int32_t>(id); });
    std::fill(row + table.size(), row + max_blocks_, 0);
    row += max_blocks_;
  }
  places->tables.clear();
}

void StepBatch::lay_out() {
  lay_out_block_table(&full_);
  if (sizes_.has_window) {
    lay_out_block_table(&windowed_);
  }
  is_laid_out_ = true;
}

void StepBatch::set_token(std::int64_t index, TokenId token) {
  PLUMB_CHECK(index >= 0 && index < num_tokens_, "a token that is not in the batch");
  *at(arrays_.token_ids + index) = token;
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

KvPlaces StepBatch::upload(const Places& places, Stream& stream) {
  return {view(places.slots, {num_tokens_}, stream),
          view(places.block_table, {num_seqs_, max_blocks_}, stream)};
}

ModelBatch StepBatch::upload(Stream& stream) {
  if (!is_laid_out_) {
    lay_out();
  }
  ModelBatch batch;
  batch.token_ids = view(arrays_.token_ids, {num_tokens_}, stream);
  batch.positions = view(arrays_.positions, {num_tokens_}, stream);
  batch.full = upload(full_, stream);
  batch.windowed = sizes_.has_window ? upload(windowed_, stream) : batch.full;
  batch.cu_seqlens_q = view(arrays_.cu_seqlens, {num_seqs_ + 1}, stream);
  batch.context_lens = view(arrays_.context_lens, {num_seqs_}, stream);
  batch.logits_rows = view(arrays_.logits_rows, {num_logits_}, stream);
  batch.max_context_len = max_context_len_;
  return batch;
}

}  // namespace plumb
