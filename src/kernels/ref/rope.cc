// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {
namespace {

/// Rotates the pairs of one head x [D] at `position`.
void rotate_head(const Rope& args, std::int32_t position, float* x) {
  const auto* inv_freq = args.inv_freq.as<float>();  // [R/2]
  const std::int64_t num_pairs = args.inv_freq.dim(0);
  const bool interleaved = args.style == RopeStyle::kInterleaved;
  for (std::int64_t i = 0; i < num_pairs; ++i) {
    float& a = x[interleaved ? 2 * i : i];
    float& b = x[interleaved ? 2 * i + 1 : i + num_pairs];
    const double angle = static_cast<double>(position) * inv_freq[i];
    const double cos = std::cos(angle) * args.magnitude;
    const double sin = std::sin(angle) * args.magnitude;
    const double rotated_a = a * cos - b * sin;
    const double rotated_b = a * sin + b * cos;
    a = static_cast<float>(rotated_a);
    b = static_cast<float>(rotated_b);
  }
}

}  // namespace

void rope(const Rope& args, Stream&) {
  const auto* positions = args.positions.as<std::int32_t>();  // [T]
  const std::int64_t head_dim = args.x.dim(2);
  for (std::int64_t t = 0; t < args.x.dim(0); ++t) {
    for (std::int64_t h = 0; h < args.x.dim(1); ++h) {
      rotate_head(args, positions[t], args.x.row<float>(t) + h * head_dim);
    }
  }
}

}  // namespace plumb::ref
