// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/status.h"
#include "model/model_config.h"

namespace plumb {

/// The angles per position of each rotated pair, and the factor on the rotated values: every
/// scaling in one form.
struct RopeTable {
  std::vector<float> inv_freq;  ///< [rotary_dim / 2]
  float magnitude = 1.0F;
};

/// Computes the table in double. `divisors` (may be empty, else rotary_dim / 2 values) are the
/// frequency divisors that some checkpoints carry as a tensor (rope_freqs.weight).
///
/// Errors  kInvalidArgument when a factor list has another length or a divisor is not positive.
/// Source  linear: kaiokendev 2023; llama3: Llama 3.1 configuration; yarn: Peng et al. 2023;
/// longrope: Ding et al. 2024.
Result<RopeTable> make_rope_table(const RopeConfig& config, std::int64_t max_context_len,
                                  const std::vector<float>& divisors);

}  // namespace plumb
