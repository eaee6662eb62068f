// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/kv_layout.h"
#include "ops/op_context.h"
#include "tensor/tensor.h"

namespace plumb {

/// Where a step's keys and values are in the layers of one kind.
/// Shapes    slot_mapping i32 [T]; block_table i32 [B,max_blocks].
struct KvPlaces {
  Tensor slot_mapping;
  Tensor block_table;
};

/// The queries of one step, laid out ragged: all rows of sequence 0, then of sequence 1, …
/// Shapes    token_ids, positions i32 [T]; context_lens i32 [B]; cu_seqlens_q i32 [B+1];
///           logits_rows i32 [R]: rows whose logits are wanted. T, B, R may be 0.
struct ModelBatch {
  Tensor token_ids;
  Tensor positions;
  KvPlaces full;      ///< of the layers that see everything
  KvPlaces windowed;  ///< of those with a window; what is behind it may name any block
  Tensor context_lens;
  Tensor cu_seqlens_q;
  Tensor logits_rows;
  std::int64_t max_context_len = 0;  ///< the largest of context_lens, known on the host
  bool wants_hidden = false;         ///< of these rows not logits but what they are made of

  /// Of a layer with that window (0 = it sees everything).
  const KvPlaces& places(std::int64_t window) const { return window > 0 ? windowed : full; }
};

/// Facts about a model that the engine and the front end ask for.
struct ModelFacts {
  std::string family;  ///< "llama", "qwen2", "qwen3", "gemma3"
  std::string name;    ///< for people, from the checkpoint
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_context_len = 0;  ///< trained context
  std::int64_t num_parameters = 0;
  std::int64_t weight_bytes = 0;
};

/// Forward code of one model with its weights.
///
/// Thread: device (forward), any (facts, kv_layout).
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelFacts& facts() const = 0;
  virtual KvLayout kv_layout() const = 0;
  /// Logits f32 [R,V] (or, as the batch wants, the last norm's output [R,hidden]) in the context's
  /// workspace; writes this step's keys and values to `caches`
  /// (one per layer).
  virtual Tensor forward(OpContext& op, const ModelBatch& batch,
                         std::span<const KvLayerCache> caches) const = 0;
};

}  // namespace plumb
