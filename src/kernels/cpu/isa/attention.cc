// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/math.h"

// Online softmax of query rows over blocks of 32 keys that begin at absolute positions:
//
//   s[r, j] = q[r] . k[j]          m' = max(m, max_j s)      p = 2^(s - m')
//   l = l 2^(m - m') + sum_j p     o = o 2^(m - m') + sum_j p[j] v[j]
//
//   1 block   K of 32 keys to floats, transposed: [D][32]; V to floats: [32][D]; keys that do not
//             exist yet become 0. Both once for all rows.
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
constexpr int kKeyVectors = kKeys / kLanes;
#ifdef PLUMB_ISA_AVX512
constexpr int kMaxRows = 6;
constexpr int kStrip = 4;
#else
constexpr int kMaxRows = 3;
constexpr int kStrip = 4;
#endif
constexpr float kInfinity = __builtin_inff();
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

/// The keys of a block that may be read, [begin, end), and their element offsets in the cache.
struct KeyBlock {
  int begin;
  int end;
  std::int64_t offsets[kKeys];

  bool has(int j) const { return j >= begin && j < end; }
};

inline KeyBlock key_block(const AttentionChunk& a, std::int64_t first) {
  KeyBlock keys;
  const std::int64_t left = a.key_end - first;
  keys.end = left < kKeys ? static_cast<int>(left) : kKeys;
  keys.begin = a.first_seen > first ? static_cast<int>(a.first_seen - first) : 0;
  const std::int64_t key = first + keys.begin;
  std::int64_t block = key / a.block_size;
  std::int64_t slot = key - block * a.block_size;
  for (int j = keys.begin; j < keys.end; ++j) {
    keys.offsets[j] = a.block_table[block] * a.block_stride + slot * a.dim;
    if (++slot == a.block_size) {
      slot = 0;
      ++block;
    }
  }
  return keys;
}

/// keys[d][j] = K, 0 in the columns of keys that are not read.
template <class Cache>
inline void load_keys(const AttentionChunk& a, const KeyBlock& block) {
  const auto* cache = static_cast<const typename Cache::Element*>(a.k_cache);
  for (int first = 0; first < kKeys; first += kLanes) {
    for (std::int64_t d = 0; d < a.dim; d += kLanes) {
      F rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        rows[i] = block.has(first + i)
                      ? Cache::load(cache + block.offsets[first + i] + d, a.dim - d)
                      : f_zero();
      }
      f_transpose(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        f_store(a.keys + (d + i) * kKeys + first, rows[i]);
      }
    }
  }
}

template <class Cache>
inline void load_values(const AttentionChunk& a, const KeyBlock& block) {
  const auto* cache = static_cast<const typename Cache::Element*>(a.v_cache);
  for (int j = 0; j < kKeys; ++j) {
    float* row = a.values + j * a.padded_dim;
    for (std::int64_t d = 0; d < a.padded_dim; d += kLanes) {
      const bool exists = block.has(j) && d < a.dim;
      f_store(row + d, exists ? Cache::load(cache + block.offsets[j] + d, a.dim - d) : f_zero());
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
      key[v] = f_load(k + v * kLanes);
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

/// Scores to weights of one row against keys [block, block + 32); returns 2^(m - m').
inline float weigh_row(const AttentionChunk& a, std::int64_t row, std::int64_t block,
                       float (&scores)[kKeys]) {
  const std::int64_t last = a.row_last[row];
  const std::int64_t first = a.window > 0 ? last - a.window + 1 : 0;
  F s[kKeyVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kKeyVectors; ++v) {
    s[v] = f_load(scores + v * kLanes);
    if (a.softcap > 0.0F) {
      const F capped = tanh_approx(f_div(s[v], f_set(a.softcap)));
      s[v] = f_mul(capped, f_set(a.softcap * kLog2E));
    }
    const std::int64_t key = block + v * kLanes;
    s[v] = f_select(mask_range(first - key, last + 1 - key), s[v], f_set(-kInfinity));
  }
  F largest = s[0];
#pragma GCC unroll 4
  for (int v = 1; v < kKeyVectors; ++v) {
    largest = f_max(largest, s[v]);
  }
  const float block_max = f_largest(largest);
  const float old = a.m[row];
  const float m = block_max > old ? block_max : old;
  const float shift = m == -kInfinity ? 0.0F : m;  // no key seen yet: all weights are 0
  F sum = f_zero();
#pragma GCC unroll 4
  for (int v = 0; v < kKeyVectors; ++v) {
    const F p = exp2_approx(f_sub(s[v], f_set(shift)));
    f_store(scores + v * kLanes, p);
    sum = v == 0 ? p : f_add(sum, p);
  }
  float factor[kLanes];
  f_store(factor, exp2_approx(f_set(old - shift)));
  a.m[row] = m;
  a.l[row] = a.l[row] * factor[0] + f_sum(sum);
  return factor[0];
}

template <int R, int S>
inline void add_values(const AttentionChunk& a, std::int64_t row, std::int64_t d,
                       const float (&weights)[kMaxRows][kKeys], const float (&factors)[kMaxRows]) {
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
  for (int j = 0; j < kKeys; ++j, v += a.padded_dim) {
    F value[S];
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) {
      value[s] = f_load(v + s * kLanes);
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
  float factors[kMaxRows];
  score_rows<R>(a, row, scores);
  for (int r = 0; r < R; ++r) {
    factors[r] = weigh_row(a, row + r, block, scores[r]);
  }
  std::int64_t d = 0;
  for (; d + kStrip * kLanes <= a.padded_dim; d += kStrip * kLanes) {
    add_values<R, kStrip>(a, row, d, scores, factors);
  }
  for (; d < a.padded_dim; d += kLanes) {
    add_values<R, 1>(a, row, d, scores, factors);
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

template <class Cache>
void attend(const AttentionChunk& a) {
  for (std::int64_t block = a.key_begin; block < a.key_end; block += kKeys) {
    const KeyBlock keys = key_block(a, block);
    load_keys<Cache>(a, keys);
    load_values<Cache>(a, keys);
    attend_block(a, block);
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

void attention_merge(std::int64_t dim, float* m, float* l, float* o, float m2, float l2,
                     const float* o2) {
  const float joined = m2 > *m ? m2 : *m;
  const float shift = joined == -kInfinity ? 0.0F : joined;
  const float keep = exp2_scalar(*m - shift);
  const float add = exp2_scalar(m2 - shift);
  *m = joined;
  *l = *l * keep + l2 * add;
  for (std::int64_t d = 0; d < dim; d += kLanes) {
    const F scaled = f_mul(f_load_first(o2 + d, dim - d), f_set(add));
    const F sum = f_fma(f_load_first(o + d, dim - d), f_set(keep), scaled);
    f_store_first(o + d, sum, dim - d);
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
