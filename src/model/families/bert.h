// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "model/encoder.h"
#include "model/encoder_config.h"

namespace plumb {

/// BERT, MiniLM, BGE and their like: learned positions, token types, norms behind each block.
Result<std::unique_ptr<Encoder>> load_bert(Checkpoint& checkpoint, Backend& backend,
                                           const EncoderConfig& config, EncoderWeights weights);

}  // namespace plumb
