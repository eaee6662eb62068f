// SPDX-License-Identifier: Apache-2.0
// Packing of the K formats with scale and minimum: Q2_K, Q4_K, Q5_K. Sums run in element order in
// single precision without contraction, so that results do not depend on the compiler.
#include <algorithm>

#include "tensor/format_blocks.h"

namespace plumb {
namespace {

constexpr int kMaxSub = 32;

/// How a format searches the scale and minimum of one sub-block.
struct SearchPlan {
  int elems;          ///< of a sub-block
  int levels;         ///< largest code
  float first_shift;  ///< of the number of levels, in tenths going up
  int num_tries;
  bool absolute_error;  ///< else squared
};

constexpr SearchPlan kQ2Plan{16, 3, -0.5F, 15, true};
constexpr SearchPlan kQ4Plan{32, 15, -1.0F, 20, false};
constexpr SearchPlan kQ5Plan{32, 31, -0.5F, 15, false};

/// x ~ scale * code - min.
struct SubBlock {
  float scale = 0.0F;
  float min = 0.0F;
  std::uint8_t codes[kMaxSub] = {};
};

// Weighted error of x ~ scale * code + low.
float error_of(const SearchPlan& plan, const float* x, const float* weights,
               const std::uint8_t* codes, float scale, float low) {
  float error = 0.0F;
  for (int i = 0; i < plan.elems; ++i) {
    const float difference = scale * static_cast<float>(codes[i]) + low - x[i];
    error += weights[i] * (plan.absolute_error ? std::fabs(difference) : difference * difference);
  }
  return error;
}

struct Line {
  float scale;
  float low;
};

// Least squares for (scale, low <= 0) given codes; false if they do not determine it.
bool fit_line(const SearchPlan& plan, const float* x, const float* weights,
              const std::uint8_t* codes, Line* line) {
  float sum_w = 0.0F;
  float sum_x = 0.0F;
  float sum_l = 0.0F;
  float sum_l2 = 0.0F;
  float sum_xl = 0.0F;
  for (int i = 0; i < plan.elems; ++i) {
    const float w = weights[i];
    const float l = static_cast<float>(codes[i]);
    sum_w += w;
    sum_x += w * x[i];
    sum_l += w * l;
    sum_l2 += w * l * l;
    sum_xl += w * l * x[i];
  }
  const float determinant = sum_w * sum_l2 - sum_l * sum_l;
  if (!(determinant > 0.0F)) {
    return false;
  }
  line->scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
  line->low = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
  if (line->low > 0.0F) {
    *line = {sum_xl / sum_l2, 0.0F};
  }
  return true;
}

void choose_codes(const SearchPlan& plan, const float* x, float inverse, float low,
                  std::uint8_t* codes) {
  for (int i = 0; i < plan.elems; ++i) {
    codes[i] = static_cast<std::uint8_t>(round_clamped(inverse * (x[i] - low), 0, plan.levels));
  }
}

SubBlock search(const SearchPlan& plan, const float* x, const float* weights) {
  SubBlock best;
  float low = std::fmin(*std::min_element(x, x + plan.elems), 0.0F);
  const float high = *std::max_element(x, x + plan.elems);
  if (!(high > low)) {
    best.min = -low;
    return best;
  }
  const float levels = static_cast<float>(plan.levels);
  const float start = levels / (high - low);
  best.scale = 1.0F / start;
  choose_codes(plan, x, start, low, best.codes);
  float best_error = error_of(plan, x, weights, best.codes, best.scale, low);
  for (int k = 0; k <= plan.num_tries; ++k) {
    const float shift = plan.first_shift + 0.1F * static_cast<float>(k);
    std::uint8_t codes[kMaxSub];
    choose_codes(plan, x, (shift + levels) / (high - low), low, codes);
    Line line{};
    if (!fit_line(plan, x, weights, codes, &line)) {
      continue;
    }
    const float error = error_of(plan, x, weights, codes, line.scale, line.low);
    if (error < best_error) {
      best_error = error;
      best.scale = line.scale;
      low = line.low;
      std::copy(codes, codes + plan.elems, best.codes);
    }
  }
  best.min = -low;
  return best;
}

void weigh(const SearchPlan& plan, const float* x, float* weights) {
  float average = 0.0F;
  if (!plan.absolute_error) {
    float sum = 0.0F;
    for (int i = 0; i < plan.elems; ++i) {
      sum += x[i] * x[i];
    }
    average = std::sqrt(sum / static_cast<float>(plan.elems));
  }
  for (int i = 0; i < plan.elems; ++i) {
    weights[i] = average + std::fabs(x[i]);
  }
}

/// One super-block: the two 16-bit scales, small integer scales and minima, and all codes.
struct SuperBlock {
  float d;
  float dmin;
  int scales[16];
  int mins[16];
  std::uint8_t codes[kSuper];
};

void round_scales(const float* values, int n, int top, int* out, float* d) {
  const float largest = std::fmax(0.0F, *std::max_element(values, values + n));
  const float inverse = largest > 0.0F ? static_cast<float>(top) / largest : 0.0F;
  for (int j = 0; j < n; ++j) {
    out[j] = round_clamped(inverse * values[j], 0, top);
  }
  *d = half_to_float(float_to_half(largest / static_cast<float>(top)));
}

SuperBlock pack(const SearchPlan& plan, int top_scale, const float* x) {
  SuperBlock block;
  const int num_sub = kSuper / plan.elems;
  float scales[16] = {};
  float mins[16] = {};
  for (int j = 0; j < num_sub; ++j) {
    float weights[kMaxSub];
    weigh(plan, x + plan.elems * j, weights);
    const SubBlock sub = search(plan, x + plan.elems * j, weights);
    scales[j] = sub.scale;
    mins[j] = sub.min;
    std::copy(sub.codes, sub.codes + plan.elems, block.codes + plan.elems * j);
  }
  round_scales(scales, num_sub, top_scale, block.scales, &block.d);
  round_scales(mins, num_sub, top_scale, block.mins, &block.dmin);
  for (int j = 0; j < num_sub; ++j) {
    const float scale = block.d * static_cast<float>(block.scales[j]);
    const float min = block.dmin * static_cast<float>(block.mins[j]);
    for (int i = plan.elems * j; scale != 0.0F && i < plan.elems * (j + 1); ++i) {
      block.codes[i] =
          static_cast<std::uint8_t>(round_clamped((x[i] + min) / scale, 0, plan.levels));
    }
  }
  return block;
}

// The header that Q4_K and Q5_K share: d, dmin and eight 6-bit pairs in 12 bytes.
void store_header(const SuperBlock& block, std::byte* out) {
  store_half(out, block.d);
  store_half(out + 2, block.dmin);
  for (int j = 0; j < 4; ++j) {
    const int scale = block.scales[j + 4];
    const int min = block.mins[j + 4];
    out[4 + j] = static_cast<std::byte>(block.scales[j] | ((scale >> 4) << 6));
    out[8 + j] = static_cast<std::byte>(block.mins[j] | ((min >> 4) << 6));
    out[12 + j] = static_cast<std::byte>((scale & 15) | ((min & 15) << 4));
  }
}

// Low nibbles: byte l of group g holds sub-block 2g (low) and 2g + 1 (high).
void store_super_nibbles(const std::uint8_t* codes, std::byte* out) {
  for (int g = 0; g < 4; ++g) {
    for (int l = 0; l < 32; ++l) {
      out[32 * g + l] =
          static_cast<std::byte>((codes[64 * g + l] & 15) | ((codes[64 * g + 32 + l] & 15) << 4));
    }
  }
}

}  // namespace

void quantize_q2_k(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, out += 84) {
    const SuperBlock block = pack(kQ2Plan, 15, source + i);
    for (int j = 0; j < 16; ++j) {
      out[j] = static_cast<std::byte>(block.scales[j] | (block.mins[j] << 4));
    }
    for (int n = 0; n < 2; ++n) {
      for (int l = 0; l < 32; ++l) {
        const std::uint8_t* c = block.codes + 128 * n + l;
        out[16 + 32 * n + l] =
            static_cast<std::byte>(c[0] | (c[32] << 2) | (c[64] << 4) | (c[96] << 6));
      }
    }
    store_half(out + 80, block.d);
    store_half(out + 82, block.dmin);
  }
}

void quantize_q4_k(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, out += 144) {
    const SuperBlock block = pack(kQ4Plan, 63, source + i);
    store_header(block, out);
    store_super_nibbles(block.codes, out + 16);
  }
}

void quantize_q5_k(const float* source, std::int64_t num_elements, std::byte* out) {
  for (std::int64_t i = 0; i < num_elements; i += kSuper, out += 176) {
    const SuperBlock block = pack(kQ5Plan, 63, source + i);
    store_header(block, out);
    for (int l = 0; l < 32; ++l) {
      unsigned high = 0;
      for (int j = 0; j < 8; ++j) {
        high |= static_cast<unsigned>(block.codes[32 * j + l] >> 4) << j;
      }
      out[16 + l] = static_cast<std::byte>(high);
    }
    store_super_nibbles(block.codes, out + 48);
  }
}

}  // namespace plumb
