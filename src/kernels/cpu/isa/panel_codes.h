// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/isa/simd.h"
#include "kernels/cpu/panel_format.h"

// Codes of a panel as vectors of unsigned bytes: step s of 32 elements holds elements 4s..4s+3 of
// each row, in the row's lane.
namespace plumb::PLUMB_ISA {
namespace {

using cpu::CodeMap;
using cpu::MinKind;
using cpu::PanelFormat;
using cpu::PanelRecord;
using cpu::ScaleKind;

constexpr int kVectorBytes = kLanes * 4;

struct CodeTable {
  signed char codes[16];

  consteval CodeTable(const signed char* values, int offset) : codes() {
    for (int i = 0; i < 16; ++i) {
      codes[i] = static_cast<signed char>(static_cast<unsigned char>(values[i] + offset));
    }
  }
};

constexpr CodeTable kIq4Codes(cpu::kIq4Values, 128);
constexpr CodeTable kFp4Codes(cpu::kFp4Values, 16);

/// Moves bit `From` of each byte to bit `To`; the caller masks.
template <int From, int To>
inline I move_bits(I v) {
  if constexpr (From > To) {
    return i_shr<From - To>(v);
  } else if constexpr (From < To) {
    return i_shl<To - From>(v);
  } else {
    return v;
  }
}

/// The codes of step S from the 32 elements whose planes begin at p.
template <PanelFormat f, int S>
inline I step_codes(const unsigned char* p) {
  constexpr PanelRecord kRecord(f, kLanes);
  I w;
  if constexpr (f.low_bits == 8) {
    w = i_load(p + S * kVectorBytes);
  } else if constexpr (f.low_bits == 4) {
    w = i_and(move_bits<S / 4 * 4, 0>(i_load(p + S % 4 * kVectorBytes)), i_set8(0x0F));
  } else {
    w = i_and(move_bits<S % 4 * 2, 0>(i_load(p + S / 4 * kVectorBytes)), i_set8(0x03));
  }
  const unsigned char* high = p + kRecord.low_bytes;
  if constexpr (f.high_bits == 2) {
    const I h = move_bits<S % 4 * 2, f.low_bits>(i_load(high + S / 4 * kVectorBytes));
    w = i_or(w, i_and(h, i_set8(0x03 << f.low_bits)));
  } else if constexpr (f.high_bits == 1) {
    const I h = move_bits<S, f.low_bits>(i_load(high));
    w = i_or(w, i_and(h, i_set8(0x01 << f.low_bits)));
  }
  if constexpr (f.map == CodeMap::kIq4) {
    w = i_lookup(kIq4Codes.codes, w);
  } else if constexpr (f.map == CodeMap::kFp4) {
    w = i_lookup(kFp4Codes.codes, w);
  }
  return w;
}

inline std::int32_t load_i32(const unsigned char* p) {
  std::int32_t v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

inline float load_f32(const unsigned char* p) {
  float v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

/// dot[t] += sum over steps [kFirst, kEnd) of codes * q, exact; q: i8[T][32].
#ifdef PLUMB_ISA_AVX512
template <PanelFormat f, int T, int kFirst, int kEnd>
inline void add_steps(const unsigned char* p, const unsigned char* q, I (&dot)[T], I (&odd)[T]) {
  if constexpr (kFirst < kEnd) {
    const I w = step_codes<f, kFirst>(p);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      I& sum = T <= 2 && kFirst % 2 == 1 ? odd[t] : dot[t];
      sum = _mm512_dpbusd_epi32(sum, w, i_set(load_i32(q + t * 32 + kFirst * 4)));
    }
    add_steps<f, T, kFirst + 1, kEnd>(p, q, dot, odd);
  }
}

/// dot[t] = sum over a group of (code - offset) * q; n: i32[T] = -sum q.
template <PanelFormat f, int T, int kFirst, int kEnd>
inline void group_dots(const unsigned char* p, const unsigned char* q, const unsigned char* n,
                       I (&dot)[T]) {
  I odd[T];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    odd[t] = i_zero();
    if constexpr (f.offset_log2 >= 0) {
      dot[t] = i_shl<f.offset_log2>(i_set(load_i32(n + 4 * t)));
    } else {
      dot[t] = i_zero();
    }
  }
  add_steps<f, T, kFirst, kEnd>(p, q, dot, odd);
  if constexpr (T <= 2) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      dot[t] = i_add(dot[t], odd[t]);
    }
  }
}
#else
/// Steps whose products fit 16 bits together: two products of code * 127 a step.
template <PanelFormat f>
consteval int steps_in_16_bits() {
  const int largest = f.map == CodeMap::kFp4 ? 28 : (1 << (f.low_bits + f.high_bits)) - 1;
  const int steps = 32767 / (largest * 2 * 127);
  return steps >= 8 ? 8 : steps >= 4 ? 4 : steps >= 2 ? 2 : 1;
}

template <PanelFormat f, int T, int kFirst, int kEnd>
inline void add_steps_16(const unsigned char* p, const unsigned char* q, I (&sum)[T]) {
  if constexpr (kFirst < kEnd) {
    const I w = step_codes<f, kFirst>(p);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const I pair = _mm256_maddubs_epi16(w, i_set(load_i32(q + t * 32 + kFirst * 4)));
      sum[t] = _mm256_add_epi16(sum[t], pair);
    }
    add_steps_16<f, T, kFirst + 1, kEnd>(p, q, sum);
  }
}

// Eight-bit codes do not fit maddubs as unsigned numbers: |w| times q with the sign of w.
// |w| <= 128 and |q| <= 127: a pair stays below 2^15.
template <PanelFormat f, int T, int kFirst, int kEnd>
inline void add_steps_signed(const unsigned char* p, const unsigned char* q, I (&dot)[T]) {
  if constexpr (kFirst < kEnd) {
    const I w = i_xor(step_codes<f, kFirst>(p), i_set8(0x80));
    const I magnitude = _mm256_abs_epi8(w);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const I x = _mm256_sign_epi8(i_set(load_i32(q + t * 32 + kFirst * 4)), w);
      const I pair = _mm256_maddubs_epi16(magnitude, x);
      dot[t] = i_add(dot[t], _mm256_madd_epi16(pair, _mm256_set1_epi16(1)));
    }
    add_steps_signed<f, T, kFirst + 1, kEnd>(p, q, dot);
  }
}

template <PanelFormat f, int T, int kFirst, int kEnd>
inline void add_runs(const unsigned char* p, const unsigned char* q, I (&dot)[T]) {
  if constexpr (kFirst < kEnd) {
    constexpr int kNext =
        kFirst + steps_in_16_bits<f>() < kEnd ? kFirst + steps_in_16_bits<f>() : kEnd;
    I sum[T];
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      sum[t] = i_zero();
    }
    add_steps_16<f, T, kFirst, kNext>(p, q, sum);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      dot[t] = i_add(dot[t], _mm256_madd_epi16(sum[t], _mm256_set1_epi16(1)));
    }
    add_runs<f, T, kNext, kEnd>(p, q, dot);
  }
}

/// dot[t] = sum over a group of (code - offset) * q; n: i32[T] = -sum q.
template <PanelFormat f, int T, int kFirst, int kEnd>
inline void group_dots(const unsigned char* p, const unsigned char* q, const unsigned char* n,
                       I (&dot)[T]) {
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    if constexpr (f.offset_log2 >= 0 && f.offset_log2 < 7) {
      dot[t] = i_shl<f.offset_log2>(i_set(load_i32(n + 4 * t)));
    } else {
      dot[t] = i_zero();
    }
  }
  if constexpr (f.offset_log2 == 7) {
    add_steps_signed<f, T, kFirst, kEnd>(p, q, dot);
  } else {
    add_runs<f, T, kFirst, kEnd>(p, q, dot);
  }
}
#endif

}  // namespace
}  // namespace plumb::PLUMB_ISA
