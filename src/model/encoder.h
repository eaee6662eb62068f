// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"
#include "ops/backend.h"
#include "ops/op_context.h"
#include "ops/pool.h"

namespace plumb {

/// Sequences packed one behind the other, without padding.
/// Shapes    token_ids, positions, token_types i32 [T]; cu_seqlens i32 [B+1].
struct EncoderBatch {
  Tensor token_ids;
  Tensor positions;    ///< from 0 in each sequence
  Tensor token_types;  ///< 0 = the first segment
  Tensor cu_seqlens;
};

/// Forward code of a bidirectional model with its weights.
/// Thread: engine (forward), any (facts).
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual const ModelFacts& facts() const = 0;
  /// Which rows make the vector of a text.
  virtual Pooling pooling() const = 0;
  /// Hidden states f32 [T,hidden] of the last layer in the context's workspace.
  virtual Tensor forward(OpContext& op, const EncoderBatch& batch) const = 0;
};

/// What becomes of the float matrices of an encoder.
enum class EncoderWeights : unsigned char {
  kAsFile,
  kRounded,  ///< to Q13 where rows allow it: products are twice as fast, errors of about 1e-4
};

/// True if the header names a family of load_encoder().
bool is_encoder(const Checkpoint& checkpoint);

/// Reads the header, checks every tensor and packs the weights for the back end. Errors as
/// load_model().
Result<std::unique_ptr<Encoder>> load_encoder(Checkpoint& checkpoint, Backend& backend,
                                              EncoderWeights weights = EncoderWeights::kAsFile);

}  // namespace plumb
