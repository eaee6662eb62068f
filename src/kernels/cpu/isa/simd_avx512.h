// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <immintrin.h>

// The vector vocabulary of the kernels, 16 lanes of 32 bits. Everything is local to the file that
// includes it.
namespace plumb::PLUMB_ISA {
namespace {

constexpr int kLanes = 16;
using F = __m512;
using I = __m512i;
using Mask = __mmask16;

inline F f_zero() {
  return _mm512_setzero_ps();
}

inline F f_set(float x) {
  return _mm512_set1_ps(x);
}

inline F f_load(const float* p) {
  return _mm512_loadu_ps(p);
}

/// A load that stays one: the compiler would repeat it as the memory operand of every user.
inline F f_load_once(const float* p) {
  F v = f_load(p);
  asm("" : "+v"(v));
  return v;
}

inline void f_store(float* p, F v) {
  _mm512_storeu_ps(p, v);
}

inline Mask mask_first(std::int64_t n) {
  return n >= 16 ? static_cast<Mask>(0xFFFF) : static_cast<Mask>((1U << n) - 1U);
}

/// Lanes i with begin <= i < end.
inline Mask mask_range(std::int64_t begin, std::int64_t end) {
  const Mask upper = end <= 0 ? static_cast<Mask>(0) : mask_first(end);
  const Mask lower = begin <= 0 ? static_cast<Mask>(0) : mask_first(begin);
  return static_cast<Mask>(upper & ~lower);
}

inline F f_select(Mask m, F yes, F no) {
  return _mm512_mask_blend_ps(m, no, yes);
}

inline F f_load_first(const float* p, std::int64_t n) {
  return _mm512_maskz_loadu_ps(mask_first(n), p);
}

inline void f_store_first(float* p, F v, std::int64_t n) {
  _mm512_mask_storeu_ps(p, mask_first(n), v);
}

inline F f_add(F a, F b) {
  return _mm512_add_ps(a, b);
}

inline F f_sub(F a, F b) {
  return _mm512_sub_ps(a, b);
}

inline F f_mul(F a, F b) {
  return _mm512_mul_ps(a, b);
}

inline F f_div(F a, F b) {
  return _mm512_div_ps(a, b);
}

/// a * b + c, one rounding.
inline F f_fma(F a, F b, F c) {
  return _mm512_fmadd_ps(a, b, c);
}

/// c - a * b, one rounding.
inline F f_fnma(F a, F b, F c) {
  return _mm512_fnmadd_ps(a, b, c);
}

inline F f_max(F a, F b) {
  return _mm512_max_ps(a, b);
}

inline F f_min(F a, F b) {
  return _mm512_min_ps(a, b);
}

inline F f_abs(F a) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7FFFFFFF)));
}

inline F f_round(F a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

inline Mask f_less(F a, F b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

inline Mask f_equal(F a, F b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

inline Mask f_is_nan(F a) {
  return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}

inline bool any(Mask m) {
  return m != 0;
}

/// 2^n for integral n in [-127, 127]; n = -127 gives 0.
inline F f_pow2(F n) {
  const I e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_castsi512_ps(_mm512_slli_epi32(e, 23));
}

inline float f_sum(F v) {
  const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

inline float f_largest(F v) {
  const __m256 a = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

inline F f_from_half(const void* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}

inline F f_from_half_first(const std::uint16_t* p, std::int64_t n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask_first(n), p));
}

inline F f_from_bfloat(const void* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p))), 16));
}

inline void f_to_half(std::uint16_t* p, F v, std::int64_t n) {
  const __m256i h = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_mask_storeu_epi16(p, mask_first(n), h);
}

inline F f_from_u8(const unsigned char* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

inline F f_from_i8(const unsigned char* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

inline I i_from_u8(const unsigned char* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

inline I i_load(const void* p) {
  return _mm512_loadu_si512(p);
}

inline I i_zero() {
  return _mm512_setzero_si512();
}

inline I i_set(std::int32_t x) {
  return _mm512_set1_epi32(x);
}

inline I i_set8(int x) {
  return _mm512_set1_epi8(static_cast<char>(x));
}

inline I i_and(I a, I b) {
  return _mm512_and_si512(a, b);
}

inline I i_or(I a, I b) {
  return _mm512_or_si512(a, b);
}

inline I i_xor(I a, I b) {
  return _mm512_xor_si512(a, b);
}

inline I i_add(I a, I b) {
  return _mm512_add_epi32(a, b);
}

/// sum += a[2i] * b[2i] + a[2i+1] * b[2i+1] of the 16-bit halves of each lane.
inline I i_dot16(I sum, I a, I b) {
  // Not _mm512_dpwssd_epi32, for which g++ 12 copies and stores a sum that lives through a loop.
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

inline I i_max_unsigned(I a, I b) {
  return _mm512_max_epu32(a, b);
}

template <int N>
inline I i_shr(I a) {
  return _mm512_srli_epi32(a, N);
}

template <int N>
inline I i_shl(I a) {
  return _mm512_slli_epi32(a, N);
}

inline F f_from_i(I a) {
  return _mm512_cvtepi32_ps(a);
}

inline I i_from_f(F a) {
  return _mm512_cvtps_epi32(a);
}

inline F f_bits(I a) {
  return _mm512_castsi512_ps(a);
}

inline I i_bits(F a) {
  return _mm512_castps_si512(a);
}

/// Looks each byte's low nibble up in a table of 16 bytes.
inline I i_lookup(const signed char* table, I nibbles) {
  const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), nibbles);
}

inline std::int32_t i_sum(I v) {
  // Not _mm512_reduce_add_epi32, whose last addition is a signed one: rows with NaN overflow.
  const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
  const __m128i quarter =
      _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const __m128i pair = _mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, _MM_SHUFFLE(1, 0, 3, 2)));
  return _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32(pair, _MM_SHUFFLE(2, 3, 0, 1))));
}

inline std::uint32_t i_largest_unsigned(I v) {
  return _mm512_reduce_max_epu32(v);
}

/// Stores the low half of each lane with signed saturation.
inline void i_store_i16(void* p, I v) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtsepi32_epi16(v));
}

/// Stores the low byte of each lane with signed saturation.
inline void i_store_i8(void* p, I v) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(v));
}

/// Eight doubles of one half (0 or 1) of the lanes.
using D = __m512d;

inline D d_from(F v, int half) {
  return _mm512_cvtps_pd(half == 0 ? _mm512_castps512_ps256(v) : _mm512_extractf32x8_ps(v, 1));
}

inline D d_set(double x) {
  return _mm512_set1_pd(x);
}

inline D d_mul(D a, D b) {
  return _mm512_mul_pd(a, b);
}

inline D d_fnma(D a, D b, D c) {
  return _mm512_fnmadd_pd(a, b, c);
}

inline D d_round(D a) {
  return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

inline F f_from_doubles(D low, D high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

/// 16 x 16 transposition: out[j] lane i = in[i] lane j.
inline void f_transpose(F (&r)[16]) {
  F t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const __m512d a = _mm512_castps_pd(t[i + j]);
      const __m512d b = _mm512_castps_pd(t[i + j + 2]);
      r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  }
  for (int i = 0; i < 16; i += 8) {
    for (int j = 0; j < 4; ++j) {
      t[i + j] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0x88);
      t[i + j + 4] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0xDD);
    }
  }
  for (int j = 0; j < 8; ++j) {
    r[j] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0x88);
    r[j + 8] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0xDD);
  }
}

}  // namespace
}  // namespace plumb::PLUMB_ISA
