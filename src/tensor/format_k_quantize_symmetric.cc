// SPDX-License-Identifier: Apache-2.0
// Packing of the K formats without minimum: Q3_K and Q6_K. Sums run in element order in single
// precision without contraction, so that results do not depend on the compiler.
#include <algorithm>

#include "tensor/format_blocks.h"

namespace plumb {
namespace {

constexpr int kSub = 16;
constexpr int kNumSubs = 16;

/// x ~ scale * code for one sub-block.
struct SymmetricSubBlock {
  float scale = 0.0F;
  int codes[kSub] = {};
};

// Tries 19 scales around the one that puts the extreme at the end of the code range.
SymmetricSubBlock search_q6(const float* x) {
  SymmetricSubBlock best;
  const float extreme = signed_extreme(x, kSub);
  if (std::fabs(extreme) < kTiny) {
    return best;
  }
  float best_score = 0.0F;
  for (int k = -10; k <= 9; ++k) {
    const bool first = k == -10;  // the plain scale goes first and needs no better score
    if (k == 0) {
      continue;
    }
    const float tenths = first ? 0.0F : 0.1F * static_cast<float>(k);
    const float inverse = -(32.0F + tenths) / extreme;
    float xl = 0.0F;
    float l2 = 0.0F;
    int codes[kSub];
    for (int i = 0; i < kSub; ++i) {
      codes[i] = round_clamped(inverse * x[i], -32, 31);
      const float weight = x[i] * x[i];
      const float l = static_cast<float>(codes[i]);
      xl += weight * x[i] * l;
      l2 += weight * l * l;
    }
    if (first || (l2 > 0.0F && xl * xl > best_score * l2)) {
      best.scale = l2 > 0.0F ? xl / l2 : 0.0F;
      best_score = best.scale * xl;
      std::copy(codes, codes + kSub, best.codes);
    }
  }
  return best;
}

/// Running sums of the fit of Q3_K.
struct CodeFit {
  float xl = 0.0F;
  float l2 = 0.0F;
};

// Moves single codes while the explained energy grows; true if any moved.
bool improve_q3(const float* x, int* codes, CodeFit* fit) {
  bool changed = false;
  for (int i = 0; i < kSub; ++i) {
    const float weight = x[i] * x[i];
    const float old_code = static_cast<float>(codes[i]);
    CodeFit other{fit->xl - weight * x[i] * old_code, fit->l2 - weight * old_code * old_code};
    if (!(other.xl > 0.0F)) {
      continue;
    }
    const int code = round_clamped(x[i] * other.l2 / other.xl, -4, 3);
    if (code == codes[i]) {
      continue;
    }
    const float l = static_cast<float>(code);
    other.xl += weight * x[i] * l;
    other.l2 += weight * l * l;
    if (other.l2 > 0.0F && other.xl * other.xl * fit->l2 > fit->xl * fit->xl * other.l2) {
      codes[i] = code;
      *fit = other;
      changed = true;
    }
  }
  return changed;
}

SymmetricSubBlock search_q3(const float* x) {
  SymmetricSubBlock best;
  const float extreme = signed_extreme(x, kSub);
  if (std::fabs(extreme) < kTiny) {
    return best;
  }
  const float inverse = -4.0F / extreme;
  CodeFit fit;
  for (int i = 0; i < kSub; ++i) {
    best.codes[i] = round_clamped(inverse * x[i], -4, 3);
    const float weight = x[i] * x[i];
    const float l = static_cast<float>(best.codes[i]);
    fit.xl += weight * x[i] * l;
    fit.l2 += weight * l * l;
  }
  for (int pass = 0; pass < 5 && improve_q3(x, best.codes, &fit); ++pass) {
  }
  best.scale = fit.l2 > 0.0F ? fit.xl / fit.l2 : 0.0F;
  return best;
}

/// One super-block; codes are shifted to be non-negative.
struct SymmetricBlock {
  float d = 0.0F;
  int scales[kNumSubs] = {};
  int codes[kSuper] = {};
};

// The sub-block scales are rounded to [-top, top - 1] times d, codes lie in [-half, half - 1].
SymmetricBlock pack_symmetric(SymmetricSubBlock (*search)(const float*), int top, int half,
                              const float* x) {
  SymmetricBlock block;
  float scales[kNumSubs] = {};
  for (int j = 0; j < kNumSubs; ++j) {
    const SymmetricSubBlock sub = search(x + kSub * j);
    scales[j] = sub.scale;
    for (int i = 0; i < kSub; ++i) {
      block.codes[kSub * j + i] = sub.codes[i] + half;
    }
  }
  const float extreme = signed_extreme(scales, kNumSubs);
  if (std::fabs(extreme) < kTiny) {
    std::fill(block.codes, block.codes + kSuper, half);
    return block;
  }
  const float inverse = static_cast<float>(-top) / extreme;
  block.d = half_to_float(float_to_half(1.0F / inverse));
  for (int j = 0; j < kNumSubs; ++j) {
    block.scales[j] = round_clamped(inverse * scales[j], -top, top - 1);
    const float scale = block.d * static_cast<float>(block.scales[j]);
    for (int i = kSub * j; scale != 0.0F && i < kSub * (j + 1); ++i) {
      block.codes[i] = round_clamped(x[i] / scale, -half, half - 1) + half;
    }
  }
  return block;
}

}  // namespace

void quantize_q3_k(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, out += 110) {
    const SymmetricBlock block = pack_symmetric(search_q3, 32, 4, source + i);
    std::fill(out, out + 110, std::byte{0});
    for (int e = 0; e < kSuper; ++e) {
      const int byte = e % 32;
      const int part = e / 32;  // 0..7: four bit pairs of each half
      out[byte] |= static_cast<std::byte>((block.codes[e] >> 2) << part);
      out[32 + 32 * (part / 4) + byte] |=
          static_cast<std::byte>((block.codes[e] & 3) << (2 * (part % 4)));
    }
    for (int j = 0; j < kNumSubs; ++j) {
      const int scale = block.scales[j] + 32;
      out[96 + j % 8] |= static_cast<std::byte>((scale & 15) << (4 * (j / 8)));
      out[104 + j % 4] |= static_cast<std::byte>((scale >> 4) << (2 * (j / 4)));
    }
    store_half(out + 108, block.d);
  }
}

void quantize_q6_k(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, out += 210) {
    const SymmetricBlock block = pack_symmetric(search_q6, 128, 32, source + i);
    for (int n = 0; n < 2; ++n) {
      for (int l = 0; l < 32; ++l) {
        const int* c = block.codes + 128 * n + l;
        out[64 * n + l] = static_cast<std::byte>((c[0] & 15) | ((c[64] & 15) << 4));
        out[64 * n + 32 + l] = static_cast<std::byte>((c[32] & 15) | ((c[96] & 15) << 4));
        out[128 + 32 * n + l] = static_cast<std::byte>((c[0] >> 4) | ((c[32] >> 4) << 2) |
                                                       ((c[64] >> 4) << 4) | ((c[96] >> 4) << 6));
      }
    }
    for (int j = 0; j < kNumSubs; ++j) {
      out[192 + j] = static_cast<std::byte>(block.scales[j]);
    }
    store_half(out + 208, block.d);
  }
}

}  // namespace plumb
