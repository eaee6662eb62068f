// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/isa/simd.h"

// Vector functions. Relative errors are about 1e-7 unless stated.
namespace plumb::PLUMB_ISA {
namespace {

constexpr float kInfinity = __builtin_inff();

/// 2^f for |f| <= 0.5, exactly 1 at 0.
inline F exp2_fraction(F f) {
  F p = f_fma(f_set(1.535325668e-4F), f, f_set(1.339900388e-3F));
  p = f_fma(p, f, f_set(9.61843861e-3F));
  p = f_fma(p, f, f_set(5.550332162e-2F));
  p = f_fma(p, f, f_set(2.40226479e-1F));
  p = f_fma(p, f, f_set(6.93147203e-1F));
  return f_fma(p, f, f_set(1.0F));
}

/// 2^x; results below 2^-126 are 0, NaN stays.
inline F exp2_approx(F x) {
  const F clamped = f_min(f_set(128.0F), f_max(f_set(-127.0F), x));
  const F n = f_round(clamped);
  return f_mul(exp2_fraction(f_sub(clamped, n)), f_pow2(n));
}

/// e^x; results below 2^-126 are 0, NaN stays.
inline F exp_approx(F x) {
  const F clamped = f_min(f_set(89.0F), f_max(f_set(-88.0F), x));
  const F n = f_round(f_mul(clamped, f_set(1.44269504F)));
  // ln 2 in two parts: n times the first is exact.
  const F r = f_fnma(n, f_set(-2.12194440e-4F), f_fnma(n, f_set(0.693359375F), clamped));
  return f_mul(exp2_fraction(f_mul(r, f_set(1.44269504F))), f_pow2(n));
}

/// 1 / (1 + e^-(x + tail)), tail: what x lacks of the exact argument, |tail| << 1.
inline F sigmoid(F x, F tail) {
  const F e0 = exp_approx(f_sub(f_zero(), f_abs(x)));
  const Mask negative = f_less(x, f_zero());
  const F signed_tail = f_select(negative, tail, f_sub(f_zero(), tail));
  const F e = f_fma(e0, signed_tail, e0);
  return f_div(f_select(negative, e, f_set(1.0F)), f_add(f_set(1.0F), e));
}

/// tanh x, relative error 1e-6 for |x| > 1e-2, absolute 1e-7 below.
inline F tanh_approx(F x) {
  const F e = exp_approx(f_mul(f_abs(x), f_set(-2.0F)));
  const F t = f_div(f_sub(f_set(1.0F), e), f_add(f_set(1.0F), e));
  return f_select(f_less(x, f_zero()), f_sub(f_zero(), t), t);
}

struct SinCos {
  F sin;
  F cos;
};

/// Sine and cosine of position * inv_freq, reduced in double: absolute error 2e-7 up to 2^24 rad.
inline SinCos sin_cos_product(float position, F inv_freq) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  D reduced[2];
  D quadrant[2];
  for (int half = 0; half < 2; ++half) {
    const D angle = d_mul(d_set(static_cast<double>(position)), d_from(inv_freq, half));
    quadrant[half] = d_round(d_mul(angle, d_set(kTwoOverPi)));
    const D r = d_fnma(quadrant[half], d_set(1.57079632679489655800), angle);
    reduced[half] = d_fnma(quadrant[half], d_set(6.12323399573676603587e-17), r);
  }
  const F r = f_from_doubles(reduced[0], reduced[1]);
  const I q = i_from_f(f_from_doubles(quadrant[0], quadrant[1]));
  const F r2 = f_mul(r, r);
  F s = f_fma(f_set(2.7183114e-6F), r2, f_set(-1.9839334e-4F));
  s = f_fma(s, r2, f_set(8.3333293e-3F));
  s = f_fma(s, r2, f_set(-1.6666667e-1F));
  s = f_fma(f_mul(s, r2), r, r);
  F c = f_fma(f_set(2.4433157e-5F), r2, f_set(-1.3887316e-3F));
  c = f_fma(c, r2, f_set(4.1666646e-2F));
  c = f_fma(f_mul(c, r2), r2, f_fma(f_set(-0.5F), r2, f_set(1.0F)));
  const Mask swap = f_equal(f_from_i(i_and(q, i_set(1))), f_set(1.0F));
  const F sin_sign = f_bits(i_shl<30>(i_and(q, i_set(2))));
  const F cos_sign = f_bits(i_shl<30>(i_and(i_add(q, i_set(1)), i_set(2))));
  return {f_bits(i_xor(i_bits(f_select(swap, c, s)), i_bits(sin_sign))),
          f_bits(i_xor(i_bits(f_select(swap, s, c)), i_bits(cos_sign)))};
}

}  // namespace
}  // namespace plumb::PLUMB_ISA
