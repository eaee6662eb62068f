// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/panel_product.h"

// y[t, n0 + lane] = sum over 128 elements each of (d_w * d_x[t]) * (sum of integer products)
//
// T rows of x meet P panels at once, so that a loaded weight is used T times and a loaded pair of
// x P times: the multipliers, two to a cycle, are what is waited for. The integers are exact, and
// each lane's floats are added in the order of the blocks whatever T and P.
namespace plumb::PLUMB_ISA {
namespace {

#ifdef PLUMB_ISA_AVX512
constexpr int kQ13Panels = 3;
#else
constexpr int kQ13Panels = 2;
#endif
constexpr int kQ13Steps = cpu::kQ13Elems / 2;
constexpr std::int64_t kQ13Vector = kLanes * 4;
constexpr std::int64_t kQ13Record = cpu::q13_record_bytes(kLanes);

inline std::int32_t q13_pair(const unsigned char* p) {
  std::int32_t v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline float q13_scale(const unsigned char* p) {
  float v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

/// sum[p][t] += the products of one block; w: the records of P panels, `stride` bytes apart.
template <int T, int P>
inline void add_q13_block(const unsigned char* w, std::int64_t stride, const unsigned char* x,
                          F (&sum)[P][T]) {
  I dot[P][T];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      dot[p][t] = i_zero();
    }
  }
  const unsigned char* codes = w + kQ13Vector;
#pragma GCC unroll 1
  for (int step = 0; step < kQ13Steps; ++step) {
    I row[P];
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      row[p] = i_load(codes + step * kQ13Vector + p * stride);
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const I pair = i_set(q13_pair(x + t * 2 * cpu::kQ13Elems + step * 4));
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        dot[p][t] = i_dot16(dot[p][t], row[p], pair);
      }
    }
  }
  const unsigned char* scales = x + T * 2 * cpu::kQ13Elems;
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
    const F d = f_bits(i_load(w + p * stride));
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const F factor = f_mul(d, f_set(q13_scale(scales + 4 * t)));
      sum[p][t] = f_fma(factor, f_from_i(dot[p][t]), sum[p][t]);
    }
  }
}

/// Rows [row, row + T) times panels [p, p + P).
template <int T, int P>
inline void q13_tile(const PanelProduct& a, std::int64_t p, std::int64_t row) {
  const std::int64_t num_blocks = a.k / cpu::kQ13Elems;
  const unsigned char* w = a.panels + p * a.panel_bytes;
  const unsigned char* x = a.x_tiles + row * num_blocks * cpu::kXQ13Bytes;
  F sum[P][T];
#pragma GCC unroll 4
  for (int i = 0; i < P; ++i) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      sum[i][t] = f_zero();
    }
  }
  for (std::int64_t b = 0; b < num_blocks; ++b, w += kQ13Record, x += T * cpu::kXQ13Bytes) {
    add_q13_block<T, P>(w, a.panel_bytes, x, sum);
  }
#pragma GCC unroll 4
  for (int i = 0; i < P; ++i) {
    store_panel<T>(a, p + i, row, sum[i]);
  }
}

template <int P>
inline void q13_panels(const PanelProduct& a, std::int64_t p) {
  std::int64_t row = a.row_begin;
  for (; row + kTileRows <= a.row_end; row += kTileRows) {
    q13_tile<kTileRows, P>(a, p, row);
  }
  if constexpr (kTileRows > 4) {
    if (row + 4 <= a.row_end) {
      q13_tile<4, P>(a, p, row);
      row += 4;
    }
  }
  if (row + 2 <= a.row_end) {
    q13_tile<2, P>(a, p, row);
    row += 2;
  }
  if (row < a.row_end) {
    q13_tile<1, P>(a, p, row);
  }
}

void q13_product(const PanelProduct& a) {
  std::int64_t p = a.panel_begin;
  for (; p + kQ13Panels <= a.panel_end; p += kQ13Panels) {
    q13_panels<kQ13Panels>(a, p);
  }
  for (; p < a.panel_end; ++p) {
    q13_panels<1>(a, p);
  }
}

/// Largest magnitude of a block. As integers, magnitudes of floats are ordered and a NaN is the
/// largest.
inline float q13_largest(const float* x) {
  const I magnitude = i_set(0x7FFFFFFF);
  I largest = i_zero();
#pragma GCC unroll 4
  for (int i = 0; i < cpu::kQ13Elems; i += kLanes) {
    largest = i_max_unsigned(largest, i_and(i_bits(f_load(x + i)), magnitude));
  }
  const std::uint32_t bits = i_largest_unsigned(largest);
  float amax;
  __builtin_memcpy(&amax, &bits, sizeof amax);
  return amax;
}

// A NaN or an infinity in x makes d one, and so every product of the block.
void round_tile(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t k,
                unsigned char* out) {
  constexpr auto kMost = static_cast<float>(cpu::kQ13Most);
  for (std::int64_t b = 0; b < k / cpu::kQ13Elems; ++b, out += rows * cpu::kXQ13Bytes) {
    unsigned char* scales = out + rows * 2 * cpu::kQ13Elems;
    for (std::int64_t t = 0; t < rows; ++t) {
      const float* block = x + t * x_stride + b * cpu::kQ13Elems;
      unsigned char* codes = out + t * 2 * cpu::kQ13Elems;
      const float amax = q13_largest(block);
      const bool is_zero = amax < 1e-30F;  // its reciprocal would overflow
      const float d = is_zero ? 0.0F : amax / kMost;
      const F inverse = f_set(is_zero ? 0.0F : kMost / amax);
      __builtin_memcpy(scales + 4 * t, &d, sizeof d);
#pragma GCC unroll 4
      for (int i = 0; i < cpu::kQ13Elems; i += kLanes) {
        i_store_i16(codes + 2 * i, i_from_f(f_mul(f_load(block + i), inverse)));
      }
    }
  }
}

}  // namespace

void add_q13_products(cpu::KernelTable* table) {
  table->product[cpu::kTypeQ13] = q13_product;
  table->round_tile = round_tile;
  table->q13_panels = kQ13Panels;
}

}  // namespace plumb::PLUMB_ISA
