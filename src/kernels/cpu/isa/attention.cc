// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/math.h"

// Online softmax of query rows over blocks of 32 keys that begin at absolute positions:
//
//   s[r, j] = q[r] . k[j]          m' = max(m, max_j s)      p = 2^(s - m')
//   l = l 2^(m - m') + sum_j p     o = o 2^(m - m') + sum_j p[j] v[j]
//
//   1 block   K of 32 keys to floats, transposed: [D][32]; V to floats: [32][D]. Both once for all
//             rows, while the next block is on its way from memory.
//   2 scores  kRows rows x 32 keys in registers, one multiply-add per d in order
//   3 softmax masks, block maximum, weights, sums: row by row
//   4 values  kRows rows x kStrip vectors of D in registers, keys in order
//
// A row meets the same operations whatever rows stand beside it, so that decode (few rows), prefill
// (many) and every chunking give the same bits.
namespace plumb::PLUMB_ISA {
namespace {

using cpu::AttentionChunk;

constexpr int kKeys = 32;
constexpr int kAhead = 1;  // blocks between a request and its use
constexpr int kKeyVectors = kKeys / kLanes;
#ifdef PLUMB_ISA_AVX512
constexpr int kMaxRows = 6;
constexpr int kStrip = 4;
#else
constexpr int kMaxRows = 3;
constexpr int kStrip = 4;
#endif
constexpr float kLog2E = 1.44269504F;

struct HalfCache {
  using Element = std::uint16_t;

  static F load(const Element* p, std::int64_t n) {
    return n >= kLanes ? f_from_half(p) : f_from_half_first(p, n);
  }
};

struct FloatCache {
  using Element = float;

  static F load(const Element* p, std::int64_t n) {
    return n >= kLanes ? f_load(p) : f_load_first(p, n);
  }
};

/// Element offsets of 32 keys in the cache. Where a key may not be read, because no row sees it,
/// stands a neighbour's offset: its weight is 0 in every row.
struct KeyBlock {
  std::int64_t offsets[kKeys];
};

inline KeyBlock key_block(const AttentionChunk& a, std::int64_t first) {
  KeyBlock keys;
  const std::int64_t left = a.prefetch_end - first;
  const int end = left < kKeys ? static_cast<int>(left) : kKeys;
  const int begin = a.first_seen > first ? static_cast<int>(a.first_seen - first) : 0;
  const std::int64_t key = first + begin;
  std::int64_t block = key / a.block_size;
  std::int64_t slot = key - block * a.block_size;
  for (int j = begin; j < end; ++j) {
    keys.offsets[j] = a.block_table[block] * a.block_stride + slot * a.dim;
    if (++slot == a.block_size) {
      slot = 0;
      ++block;
    }
  }
  for (int j = 0; j < begin; ++j) {
    keys.offsets[j] = keys.offsets[begin];
  }
  for (int j = end; j < kKeys; ++j) {
    keys.offsets[j] = keys.offsets[end - 1];
  }
  return keys;
}

/// Asks for the K and V rows of keys [begin, end) of a block.
template <class Cache>
inline void prefetch(const AttentionChunk& a, const KeyBlock& block, int begin, int end) {
  const auto* k = static_cast<const typename Cache::Element*>(a.k_cache);
  const auto* v = static_cast<const typename Cache::Element*>(a.v_cache);
  constexpr std::int64_t kLine = 64 / sizeof(typename Cache::Element);
  for (int j = begin; j < end; ++j) {
    for (std::int64_t d = 0; d < a.dim; d += kLine) {
      _mm_prefetch(k + block.offsets[j] + d, _MM_HINT_T1);
      _mm_prefetch(v + block.offsets[j] + d, _MM_HINT_T1);
    }
  }
}

/// keys[d][j] = K. kWhole: D is a multiple of the lanes. The requests for a later block are spread
/// over the work, into the second cache: a burst of them would fill the first cache's queue.
template <class Cache, bool kWhole>
inline void load_keys(const AttentionChunk& a, const KeyBlock& block, const KeyBlock* next) {
  const auto* cache = static_cast<const typename Cache::Element*>(a.k_cache);
  const std::int64_t steps = (a.dim + kLanes - 1) / kLanes;
  const int per_step = static_cast<int>((kLanes + steps - 1) / steps);
  for (int first = 0; first < kKeys; first += kLanes) {
    const std::int64_t* offsets = block.offsets + first;
    int asked = first;
    for (std::int64_t d = 0; d < a.dim; d += kLanes) {
      const int until = first + kLanes < asked + per_step ? first + kLanes : asked + per_step;
      if (next != nullptr) {
        prefetch<Cache>(a, *next, asked, until);
      }
      asked = until;
      F rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        rows[i] = Cache::load(cache + offsets[i] + d, kWhole ? kLanes : a.dim - d);
      }
      f_transpose(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        f_store(a.keys + (d + i) * kKeys + first, rows[i]);
      }
    }
  }
}

template <class Cache, bool kWhole>
inline void load_values(const AttentionChunk& a, const KeyBlock& block) {
  const auto* cache = static_cast<const typename Cache::Element*>(a.v_cache);
  for (int j = 0; j < kKeys; ++j) {
    float* row = a.values + j * a.padded_dim;
    for (std::int64_t d = 0; d < a.dim; d += kLanes) {
      f_store(row + d, Cache::load(cache + block.offsets[j] + d, kWhole ? kLanes : a.dim - d));
    }
  }
}

template <int R>
inline void score_rows(const AttentionChunk& a, std::int64_t row,
                       float (&scores)[kMaxRows][kKeys]) {
  const float* q = a.q + row * a.padded_dim;
  F sum[R][kKeyVectors];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kKeyVectors; ++v) {
      sum[r][v] = f_zero();
    }
  }
  const float* k = a.keys;
  for (std::int64_t d = 0; d < a.dim; ++d, k += kKeys) {
    F key[kKeyVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kKeyVectors; ++v) {
      key[v] = f_load_once(k + v * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const F x = f_set(q[r * a.padded_dim + d]);
#pragma GCC unroll 4
      for (int v = 0; v < kKeyVectors; ++v) {
        sum[r][v] = f_fma(x, key[v], sum[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kKeyVectors; ++v) {
      f_store(scores[r] + v * kLanes, sum[r][v]);
    }
  }
}

/// Caps and masks the scores of one row against keys [block, block + 32); returns their maximum.
inline float mask_row(const AttentionChunk& a, std::int64_t row, std::int64_t block,
                      float (&scores)[kKeys]) {
  const std::int64_t last = a.row_last[row];
  const std::int64_t first = a.window > 0 ? last - a.window + 1 : 0;
  const bool sees_all = first <= block && last >= block + kKeys - 1;
  F largest = f_set(-kInfinity);
#pragma GCC unroll 4
  for (int v = 0; v < kKeyVectors; ++v) {
    F s = f_load(scores + v * kLanes);
    if (a.softcap > 0.0F) {
      const F capped = tanh_approx(f_div(s, f_set(a.softcap)));
      s = f_mul(capped, f_set(a.softcap * kLog2E));
      f_store(scores + v * kLanes, s);
    }
    if (!sees_all) {
      const std::int64_t key = block + v * kLanes;
      s = f_select(mask_range(first - key, last + 1 - key), s, f_set(-kInfinity));
      f_store(scores + v * kLanes, s);
    }
    largest = f_max(largest, s);
  }
  return f_largest(largest);
}

/// Scores to weights of R rows; factors = 2^(m - m') of each row.
template <int R>
inline void weigh_rows(const AttentionChunk& a, std::int64_t row, std::int64_t block,
                       float (&scores)[kMaxRows][kKeys], float (&factors)[kLanes]) {
  float work[kLanes];  // first the maxima of the rows, then the shifts, then the sums
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    work[r] = mask_row(a, row + r, block, scores[r]);
  }
  const F old = f_load_first(a.m + row, R);
  const F m = f_max(f_load_first(work, R), old);
  // A row that has seen no key yet keeps the maximum -infinity; its weights become 0.
  const F shift = f_select(f_equal(m, f_set(-kInfinity)), f_zero(), m);
  const F factor = exp2_approx(f_sub(old, shift));
  f_store(factors, factor);
  f_store(work, shift);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    F sum = f_zero();
#pragma GCC unroll 4
    for (int v = 0; v < kKeyVectors; ++v) {
      const F p = exp2_approx(f_sub(f_load(scores[r] + v * kLanes), f_set(work[r])));
      f_store(scores[r] + v * kLanes, p);
      sum = v == 0 ? p : f_add(sum, p);
    }
    work[r] = f_sum(sum);
  }
  f_store_first(a.m + row, m, R);
  f_store_first(a.l + row, f_fma(f_load_first(a.l + row, R), factor, f_load_first(work, R)), R);
}

template <int R, int S>
inline void add_values(const AttentionChunk& a, std::int64_t row, std::int64_t d, int count,
                       const float (&weights)[kMaxRows][kKeys], const float (&factors)[kLanes]) {
  float* o = a.o + row * a.padded_dim + d;
  F sum[R][S];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) {
      sum[r][s] = f_mul(f_load(o + r * a.padded_dim + s * kLanes), f_set(factors[r]));
    }
  }
  const float* v = a.values + d;
  for (int j = 0; j < count; ++j, v += a.padded_dim) {
    F value[S];
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) {
      value[s] = f_load_once(v + s * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const F p = f_set(weights[r][j]);
#pragma GCC unroll 4
      for (int s = 0; s < S; ++s) {
        sum[r][s] = f_fma(p, value[s], sum[r][s]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) {
      f_store(o + r * a.padded_dim + s * kLanes, sum[r][s]);
    }
  }
}

template <int R>
void attend_rows(const AttentionChunk& a, std::int64_t row, std::int64_t block) {
  alignas(64) float scores[kMaxRows][kKeys];
  float factors[kLanes];
  score_rows<R>(a, row, scores);
  weigh_rows<R>(a, row, block, scores, factors);
  // Keys behind the last row's position weigh 0 in all rows.
  const std::int64_t seen = a.row_last[row + R - 1] + 1 - block;
  const int count = seen < kKeys ? static_cast<int>(seen) : kKeys;
  std::int64_t d = 0;
  for (; d + kStrip * kLanes <= a.padded_dim; d += kStrip * kLanes) {
    add_values<R, kStrip>(a, row, d, count, scores, factors);
  }
  for (; d < a.padded_dim; d += kLanes) {
    add_values<R, 1>(a, row, d, count, scores, factors);
  }
}

/// Whether a row sees a key of the block.
inline bool sees_block(const AttentionChunk& a, std::int64_t row, std::int64_t block) {
  const std::int64_t last = a.row_last[row];
  return last >= block && (a.window <= 0 || last - a.window + 1 < block + kKeys);
}

inline void attend_block(const AttentionChunk& a, std::int64_t block) {
  std::int64_t row = 0;
  std::int64_t end = a.num_rows;
  while (row < end && !sees_block(a, row, block)) {
    ++row;
  }
  while (end > row && !sees_block(a, end - 1, block)) {
    --end;
  }
  for (; row + kMaxRows <= end; row += kMaxRows) {
    attend_rows<kMaxRows>(a, row, block);
  }
  if constexpr (kMaxRows > 3) {
    if (row + 3 <= end) {
      attend_rows<3>(a, row, block);
      row += 3;
    }
  }
  if (row + 2 <= end) {
    attend_rows<2>(a, row, block);
    row += 2;
  }
  if (row < end) {
    attend_rows<1>(a, row, block);
  }
}

template <class Cache, bool kWhole>
void attend(const AttentionChunk& a) {
  KeyBlock blocks[kAhead + 1];  // a ring
  for (int i = 0; i < kAhead; ++i) {
    if (a.key_begin + i * kKeys < a.prefetch_end) {
      blocks[i] = key_block(a, a.key_begin + i * kKeys);
    }
  }
  int at = 0;
  for (std::int64_t block = a.key_begin; block < a.key_end; block += kKeys) {
    const int behind = at == 0 ? kAhead : at - 1;
    const bool has_next = block + kAhead * kKeys < a.prefetch_end;
    if (has_next) {
      blocks[behind] = key_block(a, block + kAhead * kKeys);
    }
    load_keys<Cache, kWhole>(a, blocks[at], has_next ? &blocks[behind] : nullptr);
    load_values<Cache, kWhole>(a, blocks[at]);
    attend_block(a, block);
    at = at == kAhead ? 0 : at + 1;
  }
}

template <class Cache>
void attend(const AttentionChunk& a) {
  if (a.dim % kLanes == 0) {
    attend<Cache, true>(a);
  } else {
    attend<Cache, false>(a);
  }
}

void attention_chunk(const AttentionChunk& a) {
  for (std::int64_t row = 0; row < a.num_rows; ++row) {
    a.m[row] = -kInfinity;
    a.l[row] = 0.0F;
    for (std::int64_t d = 0; d < a.padded_dim; d += kLanes) {
      f_store(a.o + row * a.padded_dim + d, f_zero());
    }
  }
  if (a.is_f16) {
    attend<HalfCache>(a);
  } else {
    attend<FloatCache>(a);
  }
}

inline float exp2_scalar(float x) {
  float out[kLanes];
  f_store(out, exp2_approx(f_set(x)));
  return out[0];
}

/// Up to kLanes rows.
inline void merge_rows(int rows, std::int64_t dim, std::int64_t stride, float* m, float* l,
                       float* o, const float* m2, const float* l2, const float* o2) {
  const F old = f_load_first(m, rows);
  const F other = f_load_first(m2, rows);
  const F joined = f_max(old, other);
  const F shift = f_select(f_equal(joined, f_set(-kInfinity)), f_zero(), joined);
  float keep[kLanes];
  float add[kLanes];
  f_store(keep, exp2_approx(f_sub(old, shift)));
  f_store(add, exp2_approx(f_sub(other, shift)));
  f_store_first(m, joined, rows);
  const F scaled_l = f_mul(f_load_first(l2, rows), f_load(add));
  f_store_first(l, f_fma(f_load_first(l, rows), f_load(keep), scaled_l), rows);
  for (int r = 0; r < rows; ++r, o += stride, o2 += stride) {
    for (std::int64_t d = 0; d < dim; d += kLanes) {
      const F scaled = f_mul(f_load_first(o2 + d, dim - d), f_set(add[r]));
      const F sum = f_fma(f_load_first(o + d, dim - d), f_set(keep[r]), scaled);
      f_store_first(o + d, sum, dim - d);
    }
  }
}

void attention_merge(std::int64_t num_rows, std::int64_t dim, std::int64_t stride, float* m,
                     float* l, float* o, const float* m2, const float* l2, const float* o2) {
  for (std::int64_t row = 0; row < num_rows; row += kLanes) {
    const int rows = static_cast<int>(num_rows - row < kLanes ? num_rows - row : kLanes);
    merge_rows(rows, dim, stride, m + row, l + row, o + row * stride, m2 + row, l2 + row,
               o2 + row * stride);
  }
}

void attention_finish(std::int64_t dim, float m, float l, const float* o, float sink, float* y) {
  const float joined = sink > m ? sink : m;
  const float shift = joined == -kInfinity ? 0.0F : joined;
  const float keep = exp2_scalar(m - shift);
  const float total = l * keep + exp2_scalar(sink - shift);
  const float factor = total > 0.0F ? keep / total : total - total;  // no key: 0; NaN stays
  for (std::int64_t d = 0; d < dim; d += kLanes) {
    f_store_first(y + d, f_mul(f_load_first(o + d, dim - d), f_set(factor)), dim - d);
  }
}

}  // namespace

void add_attention(cpu::KernelTable* table) {
  table->attention_chunk = attention_chunk;
  table->attention_merge = attention_merge;
  table->attention_finish = attention_finish;
}

}  // namespace plumb::PLUMB_ISA
