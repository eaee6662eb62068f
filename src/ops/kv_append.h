// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// Stores k and v of each token at its slot of the paged cache.
///
/// slot = block_id * block_size + offset; a negative slot skips its token.
///
/// Shapes    k, v f32 [T,Hkv,D], any row stride; slot_mapping i32 [T];
///           k_cache, v_cache f16 or f32 [num_blocks,Hkv,block_size,D].
/// Numerics  one rounding to the cache type (nearest even; what lies beyond the f16 range becomes
///           the largest finite value, 65504); all other slots keep their bits.
/// Requires  slots < num_blocks * block_size, no slot twice.
/// Capture   safe: no allocation, no host sync.
///
/// Worked case: block_size = 2, one head, D = 1, k = [1, 2, 1e6], v = [3, 4, 5],
/// slots = [3, -1, 0], f16: k_cache[1,0,1] = 1, k_cache[0,0,0] = 65504, v_cache the same with 3, 5.
struct KvAppend {
  Tensor k;
  Tensor v;
  Tensor slot_mapping;
  Tensor k_cache;
  Tensor v_cache;
};

Status validate(const KvAppend&);
Cost cost(const KvAppend&);

}  // namespace plumb
