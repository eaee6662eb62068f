// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/math.h"

namespace plumb::PLUMB_ISA {
namespace {

/// Sum of squares in 4 x kLanes parts, joined in one order; when `add` is given, x += add first.
inline float sum_squares(float* x, const float* add, std::int64_t n) {
  F sum[4] = {f_zero(), f_zero(), f_zero(), f_zero()};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      F v = f_load(x + i + j * kLanes);
      if (add != nullptr) {
        v = f_add(v, f_load(add + i + j * kLanes));
        f_store(x + i + j * kLanes, v);
      }
      sum[j] = f_fma(v, v, sum[j]);
    }
  }
  for (; i < n; i += kLanes) {
    F v = f_load_first(x + i, n - i);
    if (add != nullptr) {
      v = f_add(v, f_load_first(add + i, n - i));
      f_store_first(x + i, v, n - i);
    }
    sum[0] = f_fma(v, v, sum[0]);
  }
  return f_sum(f_add(f_add(sum[0], sum[1]), f_add(sum[2], sum[3])));
}

inline void scale_row(const float* x, const float* weight, float factor, std::int64_t n, float* y) {
  const F f = f_set(factor);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    f_store(y + i, f_mul(f_mul(f_load(x + i), f), f_load(weight + i)));
  }
  if (i < n) {
    f_store_first(
        y + i, f_mul(f_mul(f_load_first(x + i, n - i), f), f_load_first(weight + i, n - i)), n - i);
  }
}

inline float norm_factor(float squares, std::int64_t n, float eps) {
  return 1.0F / __builtin_sqrtf(squares / static_cast<float>(n) + eps);
}

void rms_norm(const float* x, const float* weight, float eps, std::int64_t n, float* y) {
  const float squares = sum_squares(const_cast<float*>(x), nullptr, n);
  scale_row(x, weight, norm_factor(squares, n, eps), n, y);
}

void add_rms_norm(const float* x, float* residual, const float* weight, float eps, std::int64_t n,
                  float* y) {
  const float squares = sum_squares(residual, x, n);
  scale_row(residual, weight, norm_factor(squares, n, eps), n, y);
}

struct Silu {
  static F apply(F x) { return f_mul(x, sigmoid(x, f_zero())); }
};

// 0.5 x (1 + tanh u) = x * sigmoid(2u). The argument carries its rounding errors along, because
// the relative error of e^-2u is the absolute error of 2u.
struct GeluTanh {
  static F apply(F x) {
    const F a = f_set(1.59576912F);  // 2 sqrt(2/pi)
    const F a_tail = f_set(2.6187754e-9F);
    const F b = f_set(0.0713548162F);  // a * 0.044715
    const F square = f_mul(x, x);
    const F inner = f_fma(b, square, a);
    const F inner_tail = f_add(f_fma(b, square, f_sub(a, inner)), a_tail);
    const F u = f_mul(x, inner);
    const F tail = f_fma(x, inner_tail, f_fma(x, inner, f_sub(f_zero(), u)));
    // Beyond |2u| = 88 the result is x or 0; the clamp keeps infinities out of the tail.
    const F far = f_set(100.0F);
    const Mask near = f_less(f_abs(u), far);
    return f_mul(x, sigmoid(u, f_select(near, tail, f_zero())));
  }
};

// x Phi(x), Phi(x) = 1 - erfc(x / sqrt 2) / 2 on the right, erfc(-x / sqrt 2) / 2 on the left; erfc
// by a polynomial in 1 / (1 + p z) (Abramowitz & Stegun 7.1.26, absolute error 1.5e-7).
struct GeluErf {
  static F apply(F x) {
    const F z = f_mul(f_abs(x), f_set(0.707106781F));
    const F t = f_div(f_set(1.0F), f_fma(z, f_set(0.3275911F), f_set(1.0F)));
    F p = f_fma(t, f_set(0.5307027145F), f_set(-0.7265760135F));  // the halved coefficients
    p = f_fma(p, t, f_set(0.7107068705F));
    p = f_fma(p, t, f_set(-0.142248368F));
    p = f_fma(p, t, f_set(0.127414796F));
    const F tail = f_mul(f_mul(p, t), exp_approx(f_sub(f_zero(), f_mul(z, z))));
    return f_mul(x, f_select(f_less(x, f_zero()), tail, f_sub(f_set(1.0F), tail)));
  }
};

template <class Function>
void activate(const float* x, std::int64_t n, float* y) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    f_store(y + i, Function::apply(f_load(x + i)));
  }
  if (i < n) {
    f_store_first(y + i, Function::apply(f_load_first(x + i, n - i)), n - i);
  }
}

template <class Function>
void activate_mul(const float* gate, const float* up, std::int64_t n, float* y) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    f_store(y + i, f_mul(Function::apply(f_load(gate + i)), f_load(up + i)));
  }
  if (i < n) {
    const F g = f_load_first(gate + i, n - i);
    f_store_first(y + i, f_mul(Function::apply(g), f_load_first(up + i, n - i)), n - i);
  }
}

struct Pairs {
  F a;
  F b;
};

inline Pairs rotated(Pairs p, SinCos angle) {
  return {f_fnma(p.b, angle.sin, f_mul(p.a, angle.cos)),
          f_fma(p.a, angle.sin, f_mul(p.b, angle.cos))};
}

inline void rotate_halves(const cpu::RotateHeads& r, std::int64_t i, SinCos angle) {
  const std::int64_t count = r.num_pairs - i;
  for (std::int64_t h = 0; h < r.num_heads; ++h) {
    float* a = r.x + h * r.dim + i;
    float* b = a + r.num_pairs;
    const Pairs p = rotated({f_load_first(a, count), f_load_first(b, count)}, angle);
    f_store_first(a, p.a, count);
    f_store_first(b, p.b, count);
  }
}

inline void rotate_neighbours(const cpu::RotateHeads& r, std::int64_t i, SinCos angle) {
  const std::int64_t count = r.num_pairs - i < kLanes ? r.num_pairs - i : kLanes;
  float sin[kLanes];
  float cos[kLanes];
  f_store(sin, angle.sin);
  f_store(cos, angle.cos);
  for (std::int64_t h = 0; h < r.num_heads; ++h) {
    float* x = r.x + h * r.dim + 2 * i;
    for (std::int64_t j = 0; j < count; ++j) {
      const float a = x[2 * j];
      const float b = x[2 * j + 1];
      x[2 * j] = a * cos[j] - b * sin[j];
      x[2 * j + 1] = a * sin[j] + b * cos[j];
    }
  }
}

void rotate(const cpu::RotateHeads& r) {
  for (std::int64_t i = 0; i < r.num_pairs; i += kLanes) {
    const F inv_freq = f_load_first(r.inv_freq + i, r.num_pairs - i);
    SinCos angle = sin_cos_product(r.position, inv_freq);
    angle.sin = f_mul(angle.sin, f_set(r.magnitude));
    angle.cos = f_mul(angle.cos, f_set(r.magnitude));
    if (r.interleaved) {
      rotate_neighbours(r, i, angle);
    } else {
      rotate_halves(r, i, angle);
    }
  }
}

void scale(float factor, std::int64_t n, float* x) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    f_store(x + i, f_mul(f_load(x + i), f_set(factor)));
  }
  if (i < n) {
    f_store_first(x + i, f_mul(f_load_first(x + i, n - i), f_set(factor)), n - i);
  }
}

void to_half(const float* x, std::int64_t n, std::uint16_t* y) {
  const F largest = f_set(65504.0F);
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const F v = f_load_first(x + i, n - i);
    f_to_half(y + i, f_min(largest, f_max(f_sub(f_zero(), largest), v)), n - i);
  }
}

}  // namespace

void add_elementwise(cpu::KernelTable* table) {
  table->rms_norm = rms_norm;
  table->add_rms_norm = add_rms_norm;
  table->silu_mul = activate_mul<Silu>;
  table->gelu_mul = activate_mul<GeluTanh>;
  table->gelu_erf = activate<GeluErf>;
  table->gelu_tanh = activate<GeluTanh>;
  table->rotate = rotate;
  table->scale = scale;
  table->to_half = to_half;
}

}  // namespace plumb::PLUMB_ISA
