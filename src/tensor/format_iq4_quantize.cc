// SPDX-License-Identifier: Apache-2.0
// Packing of IQ4_NL and IQ4_XS.
#include <algorithm>

#include "tensor/format_blocks.h"

namespace plumb {
namespace {

// Index of the nearest table value; ties go to the larger.
int nearest_iq4(float v) {
  int upper = 1;
  while (upper < 15 && !(v < static_cast<float>(kIq4Values[upper]))) {
    ++upper;
  }
  const float below = v - static_cast<float>(kIq4Values[upper - 1]);
  const float above = static_cast<float>(kIq4Values[upper]) - v;
  return below < above ? upper - 1 : upper;
}

// Sums of the least-squares fit x ~ scale * table[code], weights x^2.
struct Fit {
  float xl = 0.0F;
  float l2 = 0.0F;
};

Fit fit_scale(const float* x, float inverse) {
  Fit fit;
  for (int j = 0; j < 32; ++j) {
    const float value = static_cast<float>(kIq4Values[nearest_iq4(inverse * x[j])]);
    const float weight = x[j] * x[j];
    fit.xl += weight * value * x[j];
    fit.l2 += weight * value * value;
  }
  return fit;
}

float searched_scale(const float* x) {
  const float extreme = signed_extreme(x, 32);
  if (std::fabs(extreme) < kTiny) {
    return 0.0F;
  }
  const float first = static_cast<float>(kIq4Values[0]);
  const Fit start = fit_scale(x, 1.0F / (-extreme / first));
  float scale = start.l2 > 0.0F ? start.xl / start.l2 : 0.0F;
  float best = scale * start.xl;
  for (int k = -7; k <= 7; ++k) {
    const Fit fit = fit_scale(x, (static_cast<float>(k) + first) / extreme);
    if (fit.l2 > 0.0F && fit.xl * fit.xl > best * fit.l2) {
      scale = fit.xl / fit.l2;
      best = scale * fit.xl;
    }
  }
  return scale;
}

void store_codes(const float* x, float inverse, std::byte* out) {
  for (int j = 0; j < 16; ++j) {
    const int low = nearest_iq4(inverse * x[j]);
    const int high = nearest_iq4(inverse * x[j + 16]);
    out[j] = static_cast<std::byte>(low | (high << 4));
  }
}

}  // namespace

void quantize_iq4_nl(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += 32, out += 18) {
    const float* x = source + i;
    const float extreme = signed_extreme(x, 32);
    if (std::fabs(extreme) < kTiny) {
      std::fill(out, out + 18, std::byte{0});
      continue;
    }
    const float inverse = 1.0F / (extreme / static_cast<float>(kIq4Values[0]));
    const Fit fit = fit_scale(x, inverse);
    store_half(out, fit.l2 > 0.0F ? fit.xl / fit.l2 : 0.0F);
    store_codes(x, inverse, out + 2);
  }
}

void quantize_iq4_xs(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += 256, out += 136) {
    float scales[8] = {};
    for (int j = 0; j < 8; ++j) {
      scales[j] = searched_scale(source + i + 32 * j);
    }
    const float d = -signed_extreme(scales, 8) / 32.0F;
    const float inverse = reciprocal_or_zero(d);
    std::fill(out, out + 136, std::byte{0});
    store_half(out, d);
    unsigned scales_high = 0;
    for (int j = 0; j < 8; ++j) {
      const int sub_scale = round_clamped(inverse * scales[j], -32, 31);
      store_codes(source + i + 32 * j, reciprocal_or_zero(d * static_cast<float>(sub_scale)),
                  out + 8 + 16 * j);
      const unsigned packed = static_cast<unsigned>(sub_scale + 32);
      out[4 + j / 2] |= static_cast<std::byte>((packed & 15U) << (4 * (j % 2)));
      scales_high |= (packed >> 4) << (2 * j);
    }
    store_u16(out + 2, static_cast<std::uint16_t>(scales_high));
  }
}

}  // namespace plumb
