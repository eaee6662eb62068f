// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {
namespace {

void norm_row(const float* x, const float* weight, std::int64_t hidden, float eps, float* y) {
  double sum = 0.0;
  for (std::int64_t h = 0; h < hidden; ++h) {
    sum += static_cast<double>(x[h]) * x[h];
  }
  const double scale = 1.0 / std::sqrt(sum / static_cast<double>(hidden) + eps);
  for (std::int64_t h = 0; h < hidden; ++h) {
    y[h] = static_cast<float>(x[h] * scale * weight[h]);
  }
}

}  // namespace

void rms_norm(const RmsNorm& args, Stream&) {
  for (std::int64_t t = 0; t < args.x.dim(0); ++t) {
    norm_row(args.x.row<float>(t), args.weight.as<float>(), args.x.dim(1), args.eps,
             args.y.row<float>(t));
  }
}

void add_rms_norm(const AddRmsNorm& args, Stream&) {
  const std::int64_t hidden = args.x.dim(1);
  for (std::int64_t t = 0; t < args.x.dim(0); ++t) {
    const auto* x = args.x.row<float>(t);          // [H]
    auto* residual = args.residual.row<float>(t);  // [H]
    for (std::int64_t h = 0; h < hidden; ++h) {
      residual[h] += x[h];
    }
    norm_row(residual, args.weight.as<float>(), hidden, args.eps, args.y.row<float>(t));
  }
}

}  // namespace plumb::ref
