// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

// The most that a core does: what kernels are compared with. Independent sums, as many as hide the
// latency of the instruction; operands stay in registers.
namespace plumb::PLUMB_ISA {
namespace {

constexpr int kProbeSums = 10;
constexpr std::int64_t kProbeAhead = 4096;
constexpr std::int64_t kProbeVector = std::int64_t{kLanes} * 4;

/// sum += 8-bit products as the kernels of block formats add them up.
inline I probe_dot8(I sum, I a, I b) {
#ifdef PLUMB_ISA_AVX512
  return _mm512_dpbusd_epi32(sum, a, b);
#else
  return _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, b));
#endif
}

/// Keeps a value in a register and from being known.
inline I probe_opaque(I v) {
  asm("" : "+x"(v));
  return v;
}

inline F probe_opaque(F v) {
  asm("" : "+x"(v));
  return v;
}

struct FloatProbe {
  using Vector = F;

  static F zero() { return f_zero(); }

  static F step(F sum, F a, F b) { return f_fma(sum, a, b); }

  static F add(F a, F b) { return f_add(a, b); }

  static float total(F sum) { return f_sum(sum); }
};

template <I (*kStep)(I, I, I)>
struct IntProbe {
  using Vector = I;

  static I zero() { return i_zero(); }

  static I step(I sum, I a, I b) { return kStep(sum, a, b); }

  static I add(I a, I b) { return i_add(a, b); }

  static float total(I sum) { return static_cast<float>(i_sum(sum)); }
};

template <class Probe>
inline float probe_sums(typename Probe::Vector a, typename Probe::Vector b, std::int64_t rounds) {
  using V = typename Probe::Vector;
  V sums[kProbeSums];
#pragma GCC unroll 16
  for (int i = 0; i < kProbeSums; ++i) {
    sums[i] = Probe::zero();
  }
  b = probe_opaque(b);
#pragma GCC unroll 1
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kProbeSums; ++i) {
      a = probe_opaque(a);  // or else a product apart from its sum would be computed only once
      sums[i] = probe_opaque(Probe::step(sums[i], a, b));
    }
  }
  V sum = Probe::zero();
#pragma GCC unroll 16
  for (int i = 0; i < kProbeSums; ++i) {
    sum = Probe::add(sum, sums[i]);
  }
  return Probe::total(sum);
}

template <I (*kStep)(I, I, I)>
inline float probe_int_sums(std::int64_t rounds) {
  const I ones = i_set(0x01010101);
  return probe_sums<IntProbe<kStep>>(ones, ones, rounds);
}

cpu::ProbeResult probe_fma(std::int64_t rounds) {
  return {rounds * kProbeSums * kLanes, probe_sums<FloatProbe>(f_set(0.5F), f_set(1.0F), rounds)};
}

cpu::ProbeResult probe_dot8(std::int64_t rounds) {
  return {rounds * kProbeSums * kLanes * 4, probe_int_sums<probe_dot8>(rounds)};
}

cpu::ProbeResult probe_dot16(std::int64_t rounds) {
  return {rounds * kProbeSums * kLanes * 2, probe_int_sums<i_dot16>(rounds)};
}

cpu::ProbeResult probe_read(const unsigned char* p, std::int64_t num_bytes) {
  constexpr std::int64_t kStep = 8 * kProbeVector;
  I sums[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    sums[i] = i_zero();
  }
  const std::int64_t count = num_bytes / kStep * kStep;
#pragma GCC unroll 1
  for (std::int64_t at = 0; at < count; at += kStep) {
#pragma GCC unroll 8
    for (int i = 0; i < kStep; i += 64) {
      _mm_prefetch(p + at + kProbeAhead + i, _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      sums[i] = i_xor(sums[i], i_load(p + at + i * kProbeVector));
    }
  }
  I sum = i_zero();
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    sum = i_xor(sum, sums[i]);
  }
  return {count, static_cast<float>(i_sum(sum))};
}

}  // namespace

void add_probe(cpu::KernelTable* table) {
  table->probe_fma = probe_fma;
  table->probe_dot8 = probe_dot8;
  table->probe_dot16 = probe_dot16;
  table->probe_read = probe_read;
}

}  // namespace plumb::PLUMB_ISA
