// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/ref/ref_ops.h"
#include "tensor/half.h"

namespace plumb::ref {
namespace {

/// The D values of one KV head in the order of key positions.
class CacheView {
 public:
  CacheView(const Tensor& cache, const std::int32_t* blocks, std::int64_t kv_head)
      : cache_(cache), blocks_(blocks), kv_head_(kv_head) {}

  /// Element d of key position j.
  double at(std::int64_t j, std::int64_t d) const {
    const std::int64_t num_heads = cache_.dim(1);
    const std::int64_t block_size = cache_.dim(2);
    const std::int64_t head_dim = cache_.dim(3);
    const std::int64_t block = blocks_[j / block_size];
    const std::int64_t index =
        ((block * num_heads + kv_head_) * block_size + j % block_size) * head_dim + d;
    return cache_.dtype == DType::kF32 ? cache_.as<float>()[index]
                                       : half_to_float(cache_.as<std::uint16_t>()[index]);
  }

 private:
  const Tensor& cache_;         // [num_blocks,Hkv,block_size,D]
  const std::int32_t* blocks_;  // [max_blocks], one sequence's row of the block table
  std::int64_t kv_head_;
};

double score(const PagedAttention& args, const float* q, const CacheView& keys, std::int64_t j) {
  double dot = 0.0;
  for (std::int64_t d = 0; d < args.q.dim(2); ++d) {
    dot += q[d] * keys.at(j, d);
  }
  const double scaled = dot * args.scale;
  return args.softcap > 0.0F ? args.softcap * std::tanh(scaled / args.softcap) : scaled;
}

/// The first key that a query at `position` sees.
std::int64_t first_key(const PagedAttention& args, std::int64_t position) {
  return args.window > 0 ? std::max<std::int64_t>(0, position - args.window + 1) : 0;
}

/// One head of one query row: q [D] at `position` -> y [D].
void attend(const PagedAttention& args, std::int64_t head, std::int64_t position,
            const std::int32_t* blocks, const float* q, float* y) {
  const std::int64_t kv_head = head / (args.q.dim(1) / args.k_cache.dim(1));
  const CacheView keys(args.k_cache, blocks, kv_head);
  const CacheView values(args.v_cache, blocks, kv_head);
  const std::int64_t first = first_key(args, position);

  const auto* sinks = args.sinks.as<float>();  // [Hq] or null
  std::vector<double> weights;                 // one for each visible key
  double largest = sinks != nullptr ? sinks[head] : -std::numeric_limits<double>::infinity();
  for (std::int64_t j = first; j <= position; ++j) {
    weights.push_back(score(args, q, keys, j));
    largest = std::max(largest, weights.back());
  }
  double sum = sinks != nullptr ? std::exp(sinks[head] - largest) : 0.0;
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    sum += weight;
  }
  std::vector<double> mix(static_cast<std::size_t>(args.q.dim(2)));  // [D]
  for (std::int64_t j = first; j <= position; ++j) {
    const double weight = weights[static_cast<std::size_t>(j - first)] / sum;
    for (std::size_t d = 0; d < mix.size(); ++d) {
      mix[d] += weight * values.at(j, static_cast<std::int64_t>(d));
    }
  }
  std::transform(mix.begin(), mix.end(), y, [](double m) { return static_cast<float>(m); });
}

// The blocks of keys [first, context).
void check_blocks(const PagedAttention& args, const std::int32_t* blocks, std::int64_t first,
                  std::int64_t context) {
  const std::int64_t block_size = args.k_cache.dim(2);
  const std::int64_t num_used = (context + block_size - 1) / block_size;
  PLUMB_CHECK(num_used <= args.block_table.dim(1),
              "context of " + std::to_string(context) + " tokens in a table of " +
                  std::to_string(args.block_table.dim(1)) + " blocks");
  for (std::int64_t i = first / block_size; i < num_used; ++i) {
    PLUMB_CHECK(
        blocks[i] >= 0 && blocks[i] < args.k_cache.dim(0),
        "block " + std::to_string(blocks[i]) + " of " + std::to_string(args.k_cache.dim(0)));
  }
}

}  // namespace

void paged_attention(const PagedAttention& args, Stream&) {
  const auto* begins = args.cu_seqlens_q.as<std::int32_t>();        // [B+1]
  const auto* context_lens = args.context_lens.as<std::int32_t>();  // [B]
  const std::int64_t num_heads = args.q.dim(1);
  const std::int64_t head_dim = args.q.dim(2);
  for (std::int64_t b = 0; b < args.context_lens.dim(0); ++b) {
    const auto* blocks = args.block_table.row<std::int32_t>(b);  // [max_blocks]
    const std::int64_t num_rows = begins[b + 1] - begins[b];
    if (num_rows == 0) {
      continue;
    }
    PLUMB_CHECK(num_rows > 0 && num_rows <= context_lens[b], std::to_string(num_rows) +
                                                                 " query rows of a context of " +
                                                                 std::to_string(context_lens[b]));
    check_blocks(args, blocks, first_key(args, context_lens[b] - num_rows), context_lens[b]);
    for (std::int64_t r = 0; r < num_rows; ++r) {
      const std::int64_t position = context_lens[b] - num_rows + r;
      for (std::int64_t h = 0; h < num_heads; ++h) {
        attend(args, h, position, blocks, args.q.row<float>(begins[b] + r) + h * head_dim,
               args.y.row<float>(begins[b] + r) + h * head_dim);
      }
    }
  }
}

}  // namespace plumb::ref
