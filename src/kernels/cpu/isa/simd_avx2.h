// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <immintrin.h>

// The vector vocabulary of the kernels, 8 lanes of 32 bits. Everything is local to the file that
// includes it.
namespace plumb::PLUMB_ISA {
namespace {

constexpr int kLanes = 8;
using F = __m256;
using I = __m256i;

/// All bits of a lane set: chosen.
struct Mask {
  __m256i lanes;
};

inline F f_zero() {
  return _mm256_setzero_ps();
}

inline F f_set(float x) {
  return _mm256_set1_ps(x);
}

inline F f_load(const float* p) {
  return _mm256_loadu_ps(p);
}

/// A load that stays one: the compiler would repeat it as the memory operand of every user.
inline F f_load_once(const float* p) {
  F v = f_load(p);
  asm("" : "+x"(v));
  return v;
}

inline void f_store(float* p, F v) {
  _mm256_storeu_ps(p, v);
}

/// Lanes i with begin <= i < end.
inline Mask mask_range(std::int64_t begin, std::int64_t end) {
  const auto clamp = [](std::int64_t x) {
    return _mm256_set1_epi32(x < 0 ? 0 : x > 8 ? 8 : static_cast<int>(x));
  };
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return {_mm256_andnot_si256(_mm256_cmpgt_epi32(clamp(begin), lane),
                              _mm256_cmpgt_epi32(clamp(end), lane))};
}

inline Mask mask_first(std::int64_t n) {
  return mask_range(0, n);
}

inline F f_select(Mask m, F yes, F no) {
  return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m.lanes));
}

inline F f_load_first(const float* p, std::int64_t n) {
  return _mm256_maskload_ps(p, mask_first(n).lanes);
}

inline void f_store_first(float* p, F v, std::int64_t n) {
  _mm256_maskstore_ps(p, mask_first(n).lanes, v);
}

inline F f_add(F a, F b) {
  return _mm256_add_ps(a, b);
}

inline F f_sub(F a, F b) {
  return _mm256_sub_ps(a, b);
}

inline F f_mul(F a, F b) {
  return _mm256_mul_ps(a, b);
}

inline F f_div(F a, F b) {
  return _mm256_div_ps(a, b);
}

/// a * b + c, one rounding.
inline F f_fma(F a, F b, F c) {
  return _mm256_fmadd_ps(a, b, c);
}

/// c - a * b, one rounding.
inline F f_fnma(F a, F b, F c) {
  return _mm256_fnmadd_ps(a, b, c);
}

inline F f_max(F a, F b) {
  return _mm256_max_ps(a, b);
}

inline F f_min(F a, F b) {
  return _mm256_min_ps(a, b);
}

inline F f_abs(F a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
}

inline F f_round(F a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

inline Mask f_less(F a, F b) {
  return {_mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ))};
}

inline Mask f_equal(F a, F b) {
  return {_mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ))};
}

inline Mask f_is_nan(F a) {
  return {_mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q))};
}

inline bool any(Mask m) {
  return _mm256_movemask_epi8(m.lanes) != 0;
}

/// 2^n for integral n in [-127, 127]; n = -127 gives 0.
inline F f_pow2(F n) {
  const I e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
}

inline float f_sum(F v) {
  const __m128 b = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

inline float f_largest(F v) {
  const __m128 b = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

inline F f_from_half(const void* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}

inline F f_from_half_first(const std::uint16_t* p, std::int64_t n) {
  std::uint16_t full[8] = {};
  for (std::int64_t i = 0; i < n && i < 8; ++i) {
    full[i] = p[i];
  }
  return f_from_half(full);
}

inline F f_from_bfloat(const void* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(
      _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))), 16));
}

inline void f_to_half(std::uint16_t* p, F v, std::int64_t n) {
  const __m128i h = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  if (n >= 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), h);
    return;
  }
  std::uint16_t full[8];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(full), h);
  for (std::int64_t i = 0; i < n; ++i) {
    p[i] = full[i];
  }
}

inline F f_from_u8(const unsigned char* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

inline F f_from_i8(const unsigned char* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

inline I i_from_u8(const unsigned char* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

inline I i_load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

inline I i_zero() {
  return _mm256_setzero_si256();
}

inline I i_set(std::int32_t x) {
  return _mm256_set1_epi32(x);
}

inline I i_set8(int x) {
  return _mm256_set1_epi8(static_cast<char>(x));
}

inline I i_and(I a, I b) {
  return _mm256_and_si256(a, b);
}

inline I i_or(I a, I b) {
  return _mm256_or_si256(a, b);
}

inline I i_xor(I a, I b) {
  return _mm256_xor_si256(a, b);
}

inline I i_add(I a, I b) {
  return _mm256_add_epi32(a, b);
}

/// sum += a[2i] * b[2i] + a[2i+1] * b[2i+1] of the 16-bit halves of each lane.
inline I i_dot16(I sum, I a, I b) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

inline I i_max_unsigned(I a, I b) {
  return _mm256_max_epu32(a, b);
}

template <int N>
inline I i_shr(I a) {
  return _mm256_srli_epi32(a, N);
}

template <int N>
inline I i_shl(I a) {
  return _mm256_slli_epi32(a, N);
}

inline F f_from_i(I a) {
  return _mm256_cvtepi32_ps(a);
}

inline I i_from_f(F a) {
  return _mm256_cvtps_epi32(a);
}

inline F f_bits(I a) {
  return _mm256_castsi256_ps(a);
}

inline I i_bits(F a) {
  return _mm256_castps_si256(a);
}

/// Looks each byte's low nibble up in a table of 16 bytes.
inline I i_lookup(const signed char* table, I nibbles) {
  const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), nibbles);
}

inline std::int32_t i_sum(I v) {
  const __m128i a = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i b = _mm_add_epi32(a, _mm_shuffle_epi32(a, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(b, _mm_shuffle_epi32(b, 0xB1)));
}

inline std::uint32_t i_largest_unsigned(I v) {
  const __m128i a = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i b = _mm_max_epu32(a, _mm_shuffle_epi32(a, 0x4E));
  return static_cast<std::uint32_t>(
      _mm_cvtsi128_si32(_mm_max_epu32(b, _mm_shuffle_epi32(b, 0xB1))));
}

/// Stores the low half of each lane with signed saturation.
inline void i_store_i16(void* p, I v) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storeu_si128(static_cast<__m128i*>(p), words);
}

/// Stores the low byte of each lane with signed saturation.
inline void i_store_i8(void* p, I v) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}

/// Four doubles of one half (0 or 1) of the lanes.
using D = __m256d;

inline D d_from(F v, int half) {
  return _mm256_cvtps_pd(half == 0 ? _mm256_castps256_ps128(v) : _mm256_extractf128_ps(v, 1));
}

inline D d_set(double x) {
  return _mm256_set1_pd(x);
}

inline D d_mul(D a, D b) {
  return _mm256_mul_pd(a, b);
}

inline D d_fnma(D a, D b, D c) {
  return _mm256_fnmadd_pd(a, b, c);
}

inline D d_round(D a) {
  return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

inline F f_from_doubles(D low, D high) {
  return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

/// 8 x 8 transposition: out[j] lane i = in[i] lane j.
inline void f_transpose(F (&r)[8]) {
  F t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0x44);
      r[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0xEE);
    }
  }
  for (int j = 0; j < 4; ++j) {
    t[j] = _mm256_permute2f128_ps(r[j], r[j + 4], 0x20);
    t[j + 4] = _mm256_permute2f128_ps(r[j], r[j + 4], 0x31);
  }
  for (int j = 0; j < 8; ++j) {
    r[j] = t[j];
  }
}

}  // namespace
}  // namespace plumb::PLUMB_ISA
