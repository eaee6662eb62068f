// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/case_device.h"
#include "ops/paged_attention.h"

namespace plumb {

/// The rows of one sequence in a batch: the last `num_rows` of its first `context_len` tokens.
///
/// Tokens are a function of (seed, position), so that two batches with parts of the same sequence
/// hold the same numbers.
struct CaseSequence {
  std::uint64_t seed = 1;
  std::int64_t num_rows = 1;
  std::int64_t context_len = 1;
};

/// A batch for paged_attention, free of memory.
struct AttentionShape {
  std::string name;
  std::int64_t num_q_heads = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t block_size = 32;
  DType cache = DType::kF16;
  std::vector<CaseSequence> sequences = {};
  std::int64_t window = 0;
  float softcap = 0.0F;
  bool sinks = false;
  float magnitude = 1.0F;     ///< of queries and keys
  CasePlacement place = {};   ///< of q and y
  bool in_order = false;      ///< blocks in order instead of shuffled
  bool share_prefix = false;  ///< all tables name the first sequence's blocks as far as it reaches
};

/// Makes the batch on a device. Slots that belong to no token hold NaN, table entries behind a
/// context, and those of blocks that no row of the sequence sees, the largest integer.
PagedAttention make_attention(const AttentionShape& shape, CaseDevice& device);

/// What float arithmetic may err by on this batch.
CaseTolerance attention_tolerance(const AttentionShape& shape);

}  // namespace plumb
