// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

/// Stores k and v of each token at its slot of the paged cache: slot = block_id * block_size +
/// offset, negative = skip.
///
/// Shapes    k, v f32 [T,Hkv,D]; slot_mapping i32 [T]; k_cache, v_cache f16 or f32
/// [num_blocks,Hkv,block_size,D]. Numerics  one rounding to the cache type (nearest even; beyond
/// f16 range saturates to the largest finite value).
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
