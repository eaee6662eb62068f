// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "scheduler/seq_snapshot.h"

namespace plumb {

/// What one step may still take on.
struct Budget {
  std::int64_t num_tokens = 0;
  std::int64_t num_seqs = 0;
  std::int64_t num_partials = 2;  ///< prefills that may stay unfinished after the step
  std::int64_t chunk_tokens = 0;  ///< size of a full chunk; 0 = num_tokens
  std::int64_t merge_tokens = 0;  ///< by which a last chunk may exceed num_tokens
  std::int64_t block_size = 1;    ///< chunks that are not the last end at a multiple of it
  std::int64_t num_logits_tokens = std::numeric_limits<std::int64_t>::max();
};

/// How many of its uncached tokens a sequence computes in this step; 0 = it must wait.
///
/// All of them if they fit, or exceed the budget by a tail so short that a step of its own would
/// cost more than the excess; else one of as many equal chunks as the full chunk size makes
/// necessary, cut to the budget.
std::int64_t chunk_tokens(const SeqSnapshot& seq, const Budget& budget);

/// Takes the chunk out of the budget.
void charge(const SeqSnapshot& seq, std::int64_t num_tokens, Budget* budget);

}  // namespace plumb
