// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/isa/panel_codes.h"
#include "kernels/cpu/kernel_table.h"

// y[t, n0 + lane] = sum over groups g of (scale_g * d_t) * dot_g (+- min_g * s_t)
//
// Lanes are the rows of a panel, so that every row of x meets the same additions in the same order
// whatever the number of rows: T only changes how often a loaded weight is used.
//
//   panel   one record after another, streamed once; prefetched 4 KiB ahead
//   tile    T rows of x: i8[T][32] and their scales for each 32 elements (kernel_table.h)
//   sums    T vectors of floats and T of dots in registers
namespace plumb::PLUMB_ISA {
namespace {

using cpu::PanelProduct;

#ifdef PLUMB_ISA_AVX512
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 4;
#endif
constexpr std::int64_t kPrefetchBytes = 4096;

/// Scale vectors of one record.
template <PanelFormat f>
struct RecordScales {
  F d;
  F dmin;
};

/// 2^(e - 128) of R exponent bytes, subnormal below e = 2.
inline F exponent_scale(const unsigned char* p) {
  const I e = i_from_u8(p);
  // 2^(e-128) = 2^(e-64) * 2^-64 stays exact and reaches the subnormals by the multiplication; the
  // first factor overflows its exponent field for e > 190 only, where 2^(e-128) is built directly.
  const F direct = f_bits(i_shl<23>(i_add(e, i_set(-1))));
  const F low = f_mul(f_bits(i_shl<23>(i_add(e, i_set(63)))), f_set(0x1p-64F));
  return f_select(f_less(f_from_i(e), f_set(2.0F)), low, direct);
}

template <PanelFormat f>
inline RecordScales<f> record_scales(const unsigned char* record) {
  constexpr PanelRecord kRecord(f, kLanes);
  RecordScales<f> scales;
  if constexpr (f.scale == ScaleKind::kExponent) {
    scales.d = exponent_scale(record);
  } else {
    scales.d = f_from_half(record);
  }
  if constexpr (f.min != MinKind::kNone) {
    scales.dmin = f_from_half(record + kRecord.min_half);
  }
  return scales;
}

/// Scale of group `index` of a record.
template <PanelFormat f>
inline F group_scale(const unsigned char* record, const RecordScales<f>& scales, int index) {
  constexpr PanelRecord kRecord(f, kLanes);
  const unsigned char* bytes = record + kRecord.scales + index * kLanes;
  if constexpr (f.scale == ScaleKind::kHalfTimesU8) {
    return f_mul(scales.d, f_from_u8(bytes));
  } else if constexpr (f.scale == ScaleKind::kHalfTimesI8) {
    return f_mul(scales.d, f_from_i8(bytes));
  } else if constexpr (f.scale == ScaleKind::kHalfTimesLo) {
    return f_mul(scales.d, f_from_i(i_and(i_from_u8(bytes), i_set(15))));
  } else {
    return scales.d;
  }
}

/// What is added (kPlusHalf) or subtracted (the others) times s.
template <PanelFormat f>
inline F group_min(const unsigned char* record, const RecordScales<f>& scales, int index) {
  constexpr PanelRecord kRecord(f, kLanes);
  if constexpr (f.min == MinKind::kMinusHalfU8) {
    return f_mul(scales.dmin, f_from_u8(record + kRecord.mins + index * kLanes));
  } else if constexpr (f.min == MinKind::kMinusHalfHi) {
    const I bytes = i_from_u8(record + kRecord.scales + index * kLanes);
    return f_mul(scales.dmin, f_from_i(i_shr<4>(bytes)));
  } else {
    return scales.dmin;
  }
}

/// One group: steps [kFirst, kEnd) of 32 elements. d f32[T], n i32[T] and s f32[T] of the group.
template <PanelFormat f, int T, int kFirst, int kEnd>
inline void add_group(const unsigned char* codes, F scale, F min, const unsigned char* q,
                      const unsigned char* d, const unsigned char* n, const unsigned char* s,
                      F (&sum)[T]) {
  I dot[T];
  group_dots<f, T, kFirst, kEnd>(codes, q, n, dot);
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    const F factor = f_mul(scale, f_set(load_f32(d + 4 * t)));
    sum[t] = f_fma(f_from_i(dot[t]), factor, sum[t]);
    if constexpr (f.min == MinKind::kPlusHalf) {
      sum[t] = f_fma(min, f_set(load_f32(s + 4 * t)), sum[t]);
    } else if constexpr (f.min != MinKind::kNone) {
      sum[t] = f_fnma(min, f_set(load_f32(s + 4 * t)), sum[t]);
    }
  }
}

/// A panel times a tile of T rows.
template <PanelFormat f, int T>
inline void add_panel(const unsigned char* record, std::int64_t num_records, const unsigned char* x,
                      const unsigned char* halves, F (&sum)[T]) {
  constexpr PanelRecord kRecord(f, kLanes);
  for (std::int64_t r = 0; r < num_records; ++r, record += kRecord.bytes) {
    const RecordScales<f> scales = record_scales<f>(record);
    const unsigned char* codes = record + kRecord.codes;
    for (int b = 0; b < f.unit / 32; ++b, codes += kRecord.code_bytes) {
#pragma GCC unroll 16
      for (int i = 0; i < kRecord.bytes / (f.unit / 32); i += 64) {
        _mm_prefetch(codes + kPrefetchBytes + i, _MM_HINT_T0);
      }
      const unsigned char* d = x + T * 32;
      if constexpr (f.group == 32) {
        add_group<f, T, 0, 8>(codes, group_scale<f>(record, scales, b),
                              group_min<f>(record, scales, b), x, d, d + T * 4, d + T * 8, sum);
      } else {
        add_group<f, T, 0, 4>(codes, group_scale<f>(record, scales, 2 * b),
                              group_min<f>(record, scales, 2 * b), x, d, halves, halves + T * 8,
                              sum);
        add_group<f, T, 4, 8>(codes, group_scale<f>(record, scales, 2 * b + 1),
                              group_min<f>(record, scales, 2 * b + 1), x, d, halves + T * 4,
                              halves + T * 12, sum);
        halves += T * (cpu::kXBlockBytes - cpu::kXMainBytes);
      }
      x += T * cpu::kXMainBytes;
    }
  }
}

/// Writes the sums of rows [row, row + T) and panel p.
template <int T>
inline void store_panel(const PanelProduct& a, std::int64_t p, std::int64_t row, F (&sum)[T]) {
  const std::int64_t column = p * kLanes;
  const std::int64_t count = a.n - column;
  const F bias = a.bias == nullptr ? f_zero() : f_load_first(a.bias + column, count);
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    float* y = a.y + (row + t) * a.y_stride + column;
    F v = sum[t];
    if (a.bias != nullptr) {
      v = f_add(v, bias);
    }
    f_store_first(y, v, count);
  }
}

template <PanelFormat f, int T>
inline void tile_product(const PanelProduct& a, std::int64_t p, std::int64_t row) {
  const std::int64_t num_blocks = a.k / 32;
  const unsigned char* x = a.x_tiles + row * num_blocks * cpu::kXBlockBytes;
  F sum[T];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    sum[t] = f_zero();
  }
  add_panel<f, T>(a.panels + p * a.panel_bytes, a.k / f.unit, x,
                  x + T * num_blocks * cpu::kXMainBytes, sum);
  store_panel<T>(a, p, row, sum);
}

/// All rows of x for each panel in turn: the panel stays in the first cache.
template <PanelFormat f>
void product(const PanelProduct& a) {
  for (std::int64_t p = a.panel_begin; p < a.panel_end; ++p) {
    std::int64_t row = a.row_begin;
    for (; row + kTileRows <= a.row_end; row += kTileRows) {
      tile_product<f, kTileRows>(a, p, row);
    }
    if constexpr (kTileRows > 4) {
      if (row + 4 <= a.row_end) {
        tile_product<f, 4>(a, p, row);
        row += 4;
      }
    }
    if (row + 2 <= a.row_end) {
      tile_product<f, 2>(a, p, row);
      row += 2;
    }
    if (row < a.row_end) {
      tile_product<f, 1>(a, p, row);
    }
  }
}

}  // namespace
}  // namespace plumb::PLUMB_ISA
