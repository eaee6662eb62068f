// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "model/encoder.h"
#include "model/model.h"
#include "ops/backend.h"

namespace plumb {

/// What one forward pass may hold at most.
struct EmbeddingBatchLimits {
  std::int64_t num_tokens = 0;  ///< at least the longest sequence
  std::int64_t num_sequences = 0;
  /// Tokens of a pass of several sequences, at most num_tokens; 0 = these. Small passes keep what
  /// is between two products in the caches.
  std::int64_t pass_tokens = 0;
  std::int64_t max_length = 0;  ///< of a sequence, at most num_tokens; 0 = these
};

/// Device, ops and shapes-only ops that an embedding model computes with; all outlive it.
struct EmbeddingBackend {
  Backend* backend = nullptr;
  OpTable ops;
  const OpTable* meta_ops = nullptr;
};

/// Sequences in, one vector for each out.
/// Thread: one at a time (embed), any (facts, limits).
class EmbeddingModel {
 public:
  virtual ~EmbeddingModel() = default;
  virtual const ModelFacts& facts() const = 0;
  virtual const EmbeddingBatchLimits& limits() const = 0;
  /// The pooled hidden states, not normalised. Requires at least one sequence, none empty or longer
  /// than facts().max_context_len, and no more than the limits in all.
  /// Errors kDeviceLost.
  virtual Result<std::vector<std::vector<float>>> embed(
      std::span<const std::span<const TokenId>> sequences) = 0;
};

/// An encoder, pooled as its checkpoint says. Errors kResourceExhausted: no memory for the limits.
Result<std::unique_ptr<EmbeddingModel>> make_encoder_embedding(std::unique_ptr<Encoder> encoder,
                                                               const EmbeddingBackend& backend,
                                                               const EmbeddingBatchLimits& limits);

/// A decoder whose last hidden states are pooled; it keeps keys and values for one pass only.
/// Errors as make_encoder_embedding().
Result<std::unique_ptr<EmbeddingModel>> make_decoder_embedding(std::unique_ptr<Model> model,
                                                               Pooling pooling,
                                                               const EmbeddingBackend& backend,
                                                               const EmbeddingBatchLimits& limits);

}  // namespace plumb
