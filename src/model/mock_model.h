// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/token_id.h"
#include "model/model.h"
#include "model/model_config.h"

namespace plumb {

/// A model that computes nothing: each step takes `1 / steps_per_second`, and the tokens are
/// pseudo-random numbers of position and last token, none of `never`. For measuring everything but
/// the model.
///
/// It has the vocabulary and context of the configuration and a cache of a few bytes a token, which
/// it neither writes nor reads.
/// Requires  steps_per_second > 0; `never` does not hold the whole vocabulary.
std::unique_ptr<Model> make_mock_model(const ModelConfig& config, double steps_per_second,
                                       std::vector<TokenId> never, std::int64_t block_size);

}  // namespace plumb
