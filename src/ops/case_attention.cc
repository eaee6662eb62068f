// SPDX-License-Identifier: Apache-2.0
#include "ops/case_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/case_rng.h"
#include "tensor/half.h"

namespace plumb {
namespace {

enum class Role : std::uint64_t { kQuery = 1, kKey = 2, kValue = 3 };

/// The numbers of one token, [heads, D].
std::vector<float> token_values(Role role, std::uint64_t seed, std::int64_t position,
                                std::int64_t count, float scale) {
  CaseRng rng(seed * 1000003 + static_cast<std::uint64_t>(position) * 7 +
              static_cast<std::uint64_t>(role));
  return rng.normals(count, scale);
}

std::int64_t blocks_for(std::int64_t context_len, std::int64_t block_size) {
  return (context_len + block_size - 1) / block_size;
}

/// Host images of a paged cache of one type.
class CacheImage {
 public:
  CacheImage(const AttentionShape& s, std::int64_t num_blocks)
      : dims_{num_blocks, s.num_kv_heads, s.block_size, s.head_dim},
        dtype_(s.cache),
        bytes_(static_cast<std::size_t>(dims_.num_elements() * traits(s.cache).block_bytes),
               std::byte{0xFF}) {}

  /// Writes values [Hkv,D] of one token.
  void set_token(std::int64_t block, std::int64_t offset, const std::vector<float>& values) {
    for (std::int64_t h = 0; h < dims_[1]; ++h) {
      for (std::int64_t d = 0; d < dims_[3]; ++d) {
        const std::int64_t index = ((block * dims_[1] + h) * dims_[2] + offset) * dims_[3] + d;
        set(index, values[static_cast<std::size_t>(h * dims_[3] + d)]);
      }
    }
  }

  Tensor upload(CaseDevice& device) const { return device.bytes(dtype_, dims_, bytes_); }

 private:
  void set(std::int64_t index, float value) {
    if (dtype_ == DType::kF32) {
      std::memcpy(bytes_.data() + index * 4, &value, sizeof value);
    } else {
      const std::uint16_t half = float_to_half(value);
      std::memcpy(bytes_.data() + index * 2, &half, sizeof half);
    }
  }

  Shape dims_;
  DType dtype_;
  std::vector<std::byte> bytes_;
};

/// The block table of a batch, its blocks in the order in which sequences take them.
struct BlockPlan {
  std::int64_t num_blocks = 0;
  std::int64_t max_blocks = 1;
  std::vector<std::int32_t> table;  // [B,max_blocks]
};

BlockPlan plan_blocks(const AttentionShape& s) {
  BlockPlan plan;
  std::int64_t num_used = 0;
  for (const CaseSequence& sequence : s.sequences) {
    const std::int64_t count = blocks_for(sequence.context_len, s.block_size);
    plan.max_blocks = std::max(plan.max_blocks, count + 1);
    num_used += count;
  }
  plan.num_blocks = num_used + 2;
  CaseRng rng(static_cast<std::uint64_t>(plan.num_blocks));
  std::vector<std::int32_t> order = rng.permutation(plan.num_blocks);
  if (s.in_order) {
    std::sort(order.begin(), order.end());
  }
  plan.table.assign(static_cast<std::size_t>(plan.max_blocks) * s.sequences.size(),
                    std::numeric_limits<std::int32_t>::max());
  std::size_t next = 0;
  for (std::size_t b = 0; b < s.sequences.size(); ++b) {
    const std::int64_t count = blocks_for(s.sequences[b].context_len, s.block_size);
    const std::int64_t shared =
        s.share_prefix && b > 0 ? s.sequences[0].context_len / s.block_size : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = b * static_cast<std::size_t>(plan.max_blocks) + static_cast<std::size_t>(i);
      plan.table[at] = i < shared ? plan.table[static_cast<std::size_t>(i)] : order[next++];
    }
  }
  return plan;
}

void fill_caches(const AttentionShape& s, const BlockPlan& plan, CacheImage& keys,
                 CacheImage& values) {
  const std::int64_t count = s.num_kv_heads * s.head_dim;
  for (std::size_t b = 0; b < s.sequences.size(); ++b) {
    const CaseSequence& sequence = s.sequences[b];
    for (std::int64_t j = 0; j < sequence.context_len; ++j) {
      const std::int64_t block = plan.table[b * static_cast<std::size_t>(plan.max_blocks) +
                                            static_cast<std::size_t>(j / s.block_size)];
      const std::int64_t offset = j % s.block_size;
      keys.set_token(block, offset, token_values(Role::kKey, sequence.seed, j, count, s.magnitude));
      values.set_token(block, offset, token_values(Role::kValue, sequence.seed, j, count, 1.0F));
    }
  }
}

// Nothing may read a block that is behind the windows of all rows of its sequence: another one may
// have it by now.
void forget_unseen_blocks(const AttentionShape& s, BlockPlan* plan) {
  for (std::size_t b = 0; b < s.sequences.size() && s.window > 0; ++b) {
    const CaseSequence& sequence = s.sequences[b];
    const std::int64_t first =
        std::max<std::int64_t>(0, sequence.context_len - sequence.num_rows - s.window + 1);
    const auto row = plan->table.begin() + static_cast<std::ptrdiff_t>(b) * plan->max_blocks;
    std::fill(row, row + first / s.block_size, std::numeric_limits<std::int32_t>::max());
  }
}

std::vector<float> queries(const AttentionShape& s) {
  std::vector<float> q;
  for (const CaseSequence& sequence : s.sequences) {
    for (std::int64_t r = 0; r < sequence.num_rows; ++r) {
      const std::vector<float> row =
          token_values(Role::kQuery, sequence.seed, sequence.context_len - sequence.num_rows + r,
                       s.num_q_heads * s.head_dim, s.magnitude);
      q.insert(q.end(), row.begin(), row.end());
    }
  }
  return q;
}

float scale_of(const AttentionShape& s) {
  return 1.0F / std::sqrt(static_cast<float>(s.head_dim));
}

}  // namespace

PagedAttention make_attention(const AttentionShape& s, CaseDevice& device) {
  const auto num_seqs = static_cast<std::int64_t>(s.sequences.size());
  std::vector<std::int32_t> context_lens;
  std::vector<std::int32_t> begins{0};
  std::int64_t longest = 0;
  for (const CaseSequence& sequence : s.sequences) {
    context_lens.push_back(static_cast<std::int32_t>(sequence.context_len));
    begins.push_back(begins.back() + static_cast<std::int32_t>(sequence.num_rows));
    longest = std::max(longest, sequence.context_len);
  }
  const std::int64_t num_tokens = begins.back();
  BlockPlan plan = plan_blocks(s);
  CacheImage keys(s, plan.num_blocks);
  CacheImage values(s, plan.num_blocks);
  fill_caches(s, plan, keys, values);
  forget_unseen_blocks(s, &plan);
  const Shape rows{num_tokens, s.num_q_heads, s.head_dim};

  PagedAttention args;
  args.q = device.floats(rows, queries(s), s.place);
  args.k_cache = keys.upload(device);
  args.v_cache = values.upload(device);
  args.block_table = device.ints({num_seqs, plan.max_blocks}, plan.table, {.gap = 2, .lead = 0});
  args.context_lens = device.ints({num_seqs}, context_lens);
  args.cu_seqlens_q = device.ints({num_seqs + 1}, begins);
  if (s.sinks) {
    args.sinks = device.floats({s.num_q_heads}, CaseRng(5).normals(s.num_q_heads, 2.0F));
  }
  args.y = device.blank(DType::kF32, rows, s.place);
  args.scratch =
      device.scratch(paged_attention_scratch_bytes(num_tokens, s.num_q_heads, s.head_dim, longest));
  args.scale = scale_of(s);
  args.window = s.window;
  args.softcap = s.softcap;
  return args;
}

CaseTolerance attention_tolerance(const AttentionShape& s) {
  // A score errs by about 1e-7 of scale |q| |k| in float (norms are about magnitude * sqrt(D)), a
  // weight by as much, and the mix by that times the largest value (about 4).
  const double score =
      static_cast<double>(s.magnitude) * s.magnitude * std::sqrt(static_cast<double>(s.head_dim));
  constexpr double kLargestValue = 4.0;
  return {.absolute = kLargestValue * (1e-6 + 2e-7 * (score + static_cast<double>(s.softcap)))};
}

}  // namespace plumb
