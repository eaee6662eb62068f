// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "kvcache/block_pool.h"
#include "model/model.h"
#include "ops/backend.h"

namespace plumb {

/// Largest sizes of a step's inputs.
struct StepSizes {
  std::int64_t num_tokens = 0;  ///< T
  std::int64_t num_seqs = 0;    ///< B
  std::int64_t num_logits = 0;  ///< R
  std::int64_t num_blocks = 0;  ///< of one sequence
  bool has_window = false;      ///< some layers see a window: they have block tables of their own
};

/// The model's inputs of one step, built in arrays that live as long as the engine.
/// Thread: one at a time. Cost: no allocation after construction.
class StepBatch {
 public:
  /// With `device` null the arrays themselves are the model's inputs (memory that it can address);
  /// else upload() copies them there. Errors kResourceExhausted.
  static Result<StepBatch> create(const StepSizes& sizes, std::int64_t block_size, Backend* device);

  void clear();

  /// Appends a sequence: its next tokens, the position of the first of them, its block tables.
  /// Requires window_blocks as long as blocks where layers see a window.
  void add_seq(std::span<const TokenId> tokens, std::int64_t position,
               std::span<const BlockId> blocks, std::span<const BlockId> window_blocks = {});

  /// Wants the logits of one of the rows of the sequence added last, counted from its first.
  void want_logits(std::int64_t row_of_seq);

  /// Copies the block tables of the sequences, which may change afterwards; else upload() does it.
  /// Nothing is added any more.
  void lay_out();

  /// Replaces a token by its index in the batch: one that was not known when it was added.
  void set_token(std::int64_t index, TokenId token);

  /// Views of the arrays, valid until clear(). Requires streams in order.
  ModelBatch upload(Stream& stream);

  std::int64_t num_tokens() const { return num_tokens_; }

  std::int64_t num_logits() const { return num_logits_; }

 private:
  StepBatch(const StepSizes& sizes, std::int64_t block_size, Backend* device);

  // Where an array begins within host_ and device memory.
  struct Arrays {
    std::int64_t token_ids = 0;
    std::int64_t positions = 0;
    std::int64_t cu_seqlens = 0;
    std::int64_t context_lens = 0;
    std::int64_t logits_rows = 0;
    std::int64_t end = 0;
  };

  // The places in the layers of one kind.
  struct Places {
    std::int64_t slots = 0;
    std::int64_t block_table = 0;
    std::vector<std::span<const BlockId>> tables;
  };

  std::int32_t* at(std::int64_t offset) { return host_.data() + offset; }

  Tensor view(std::int64_t offset, const Shape& shape, Stream& stream);
  void add_places(std::int64_t position, std::int64_t count, std::span<const BlockId> blocks,
                  Places* places);
  void lay_out_block_table(Places* places);
  KvPlaces upload(const Places& places, Stream& stream);

  StepSizes sizes_;
  std::int64_t block_size_;
  Backend* device_;
  Arrays arrays_;
  Places full_;
  Places windowed_;  ///< unused unless the sizes have a window
  std::vector<std::int32_t> host_;
  Buffer device_memory_;
  std::int64_t num_tokens_ = 0;
  std::int64_t num_seqs_ = 0;
  std::int64_t num_logits_ = 0;
  std::int64_t max_context_len_ = 0;
  std::int64_t max_blocks_ = 0;
  bool is_laid_out_ = false;
};

}  // namespace plumb
