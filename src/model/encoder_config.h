// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/metadata.h"
#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "ops/gelu.h"
#include "ops/pool.h"

namespace plumb {

/// The numbers of an encoder, read from a checkpoint's header. Field names follow the published
/// configuration keys.
struct EncoderConfig {
  std::string family;  ///< "bert"
  std::string name;
  std::int64_t hidden_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t num_positions = 0;  ///< rows of the table of positions
  std::int64_t num_token_types = 0;
  std::int64_t max_context_len = 0;  ///< what it was trained for, at most num_positions
  double layer_norm_eps = 1e-12;
  GeluForm activation = GeluForm::kErf;
  Pooling pooling = Pooling::kMean;
};

/// From either kind of checkpoint; a Hugging Face folder may say more in the files of
/// sentence-transformers (1_Pooling/config.json, sentence_bert_config.json).
/// Errors kUnsupported: another architecture, activation or pooling; kInvalidArgument: a missing or
/// senseless field.
Result<EncoderConfig> read_encoder_config(const Checkpoint& checkpoint);

}  // namespace plumb
