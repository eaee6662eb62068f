// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "kernels/ref/ref_ops.h"
#include "tensor/half.h"

namespace plumb::ref {
namespace {

constexpr float kMaxHalf = 65504.0F;

void store(const Tensor& cache, std::int64_t index, float value) {
  if (cache.dtype == DType::kF32) {
    cache.as<float>()[index] = value;
  } else {
    const float finite = value > kMaxHalf ? kMaxHalf : value < -kMaxHalf ? -kMaxHalf : value;
    cache.as<std::uint16_t>()[index] = float_to_half(finite);
  }
}

/// Writes the heads of one token, rows [Hkv,D], to `slot` of cache [num_blocks,Hkv,block_size,D].
void store_token(const Tensor& cache, std::int64_t slot, const float* heads) {
  const std::int64_t num_heads = cache.dim(1);
  const std::int64_t block_size = cache.dim(2);
  const std::int64_t head_dim = cache.dim(3);
  const std::int64_t block = slot / block_size;
  const std::int64_t offset = slot % block_size;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const std::int64_t begin = ((block * num_heads + h) * block_size + offset) * head_dim;
    for (std::int64_t d = 0; d < head_dim; ++d) {
      store(cache, begin + d, heads[h * head_dim + d]);
    }
  }
}

}  // namespace

void kv_append(const KvAppend& args, Stream&) {
  const auto* slots = args.slot_mapping.as<std::int32_t>();  // [T]
  const std::int64_t num_slots = args.k_cache.dim(0) * args.k_cache.dim(2);
  for (std::int64_t t = 0; t < args.k.dim(0); ++t) {
    if (slots[t] < 0) {
      continue;
    }
    PLUMB_CHECK(slots[t] < num_slots,
                "slot " + std::to_string(slots[t]) + " of " + std::to_string(num_slots));
    store_token(args.k_cache, slots[t], args.k.row<float>(t));
    store_token(args.v_cache, slots[t], args.v.row<float>(t));
  }
}

}  // namespace plumb::ref
