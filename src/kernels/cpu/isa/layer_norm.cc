// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

// Sums over a row run in 4 x kLanes parts, joined in one order.
namespace plumb::PLUMB_ISA {
namespace {

/// sum of value(i) over vectors of a row; value gives zeros behind the end.
template <class Value>
inline float sum_over(std::int64_t n, const Value& value) {
  F sum[4] = {f_zero(), f_zero(), f_zero(), f_zero()};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      sum[j] = f_add(sum[j], value(i + j * kLanes));
    }
  }
  for (; i < n; i += kLanes) {
    sum[0] = f_add(sum[0], value(i));
  }
  return f_sum(f_add(f_add(sum[0], sum[1]), f_add(sum[2], sum[3])));
}

inline F load_row(const float* x, std::int64_t i, std::int64_t n) {
  return n - i >= kLanes ? f_load(x + i) : f_load_first(x + i, n - i);
}

inline void store_row(float* y, F v, std::int64_t i, std::int64_t n) {
  if (n - i >= kLanes) {
    f_store(y + i, v);
  } else {
    f_store_first(y + i, v, n - i);
  }
}

void add_row(const float* x, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    store_row(y, f_add(load_row(y, i, n), load_row(x, i, n)), i, n);
  }
}

void layer_norm(const float* x, const float* residual, const float* weight, const float* bias,
                float eps, std::int64_t n, float* y) {
  const float total = sum_over(n, [&](std::int64_t i) {
    F v = load_row(x, i, n);
    if (residual != nullptr) {
      v = f_add(v, load_row(residual, i, n));
    }
    store_row(y, v, i, n);
    return v;
  });
  const F mean = f_set(total / static_cast<float>(n));
  const float squares = sum_over(n, [&](std::int64_t i) {
    F v = f_sub(load_row(y, i, n), mean);
    if (n - i < kLanes) {
      v = f_select(mask_first(n - i), v, f_zero());
    }
    return f_mul(v, v);
  });
  const F factor = f_set(1.0F / __builtin_sqrtf(squares / static_cast<float>(n) + eps));
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const F scaled = f_mul(f_sub(load_row(y, i, n), mean), factor);
    store_row(y, f_fma(scaled, load_row(weight, i, n), load_row(bias, i, n)), i, n);
  }
}

}  // namespace

void add_layer_norm(cpu::KernelTable* table) {
  table->layer_norm = layer_norm;
  table->add = add_row;
}

}  // namespace plumb::PLUMB_ISA
