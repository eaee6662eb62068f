// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/panel_product.h"

// y[t, n0 + lane] = (sum over even k) + (sum over odd k) of w[k][lane] * x[t, k], k in order.
// A panel is [K][R] numbers of the file's type.
namespace plumb::PLUMB_ISA {
namespace {

struct LoadF32 {
  static constexpr std::int64_t kBytes = 4;

  static F load(const unsigned char* p) { return f_bits(i_load(p)); }
};

struct LoadF16 {
  static constexpr std::int64_t kBytes = 2;

  static F load(const unsigned char* p) { return f_from_half(p); }
};

struct LoadBF16 {
  static constexpr std::int64_t kBytes = 2;

  static F load(const unsigned char* p) { return f_from_bfloat(p); }
};

template <class Load, int T>
inline void float_tile(const PanelProduct& a, std::int64_t p, std::int64_t row) {
  constexpr std::int64_t kStep = kLanes * Load::kBytes;
  const unsigned char* w = a.panels + p * a.panel_bytes;
  const float* x = a.x + row * a.x_stride;
  F even[T];
  F odd[T];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    even[t] = f_zero();
    odd[t] = f_zero();
  }
  std::int64_t k = 0;
  for (; k + 2 <= a.k; k += 2, w += 2 * kStep) {
    _mm_prefetch(w + kPrefetchBytes, _MM_HINT_T0);
    _mm_prefetch(w + kPrefetchBytes + kStep, _MM_HINT_T0);
    const F w0 = Load::load(w);
    const F w1 = Load::load(w + kStep);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      even[t] = f_fma(w0, f_set(x[t * a.x_stride + k]), even[t]);
      odd[t] = f_fma(w1, f_set(x[t * a.x_stride + k + 1]), odd[t]);
    }
  }
  if (k < a.k) {
    const F w0 = Load::load(w);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      even[t] = f_fma(w0, f_set(x[t * a.x_stride + k]), even[t]);
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    even[t] = f_add(even[t], odd[t]);
  }
  store_panel<T>(a, p, row, even);
}

template <class Load>
void float_product(const PanelProduct& a) {
  for (std::int64_t p = a.panel_begin; p < a.panel_end; ++p) {
    std::int64_t row = a.row_begin;
    for (; row + kTileRows <= a.row_end; row += kTileRows) {
      float_tile<Load, kTileRows>(a, p, row);
    }
    for (; row + 2 <= a.row_end; row += 2) {
      float_tile<Load, 2>(a, p, row);
    }
    if (row < a.row_end) {
      float_tile<Load, 1>(a, p, row);
    }
  }
}

}  // namespace

void add_float_products(cpu::KernelTable* table) {
  table->product[cpu::kTypeF32] = float_product<LoadF32>;
  table->product[cpu::kTypeF16] = float_product<LoadF16>;
  table->product[cpu::kTypeBF16] = float_product<LoadBF16>;
}

}  // namespace plumb::PLUMB_ISA
