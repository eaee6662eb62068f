// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {

void add(const Add& args, Stream&) {
  for (std::int64_t t = 0; t < args.x.dim(0); ++t) {
    const auto* x = args.x.row<float>(t);  // [H]
    auto* y = args.y.row<float>(t);        // [H]
    for (std::int64_t h = 0; h < args.x.dim(1); ++h) {
      y[h] += x[h];
    }
  }
}

void layer_norm(const LayerNorm& args, Stream&) {
  const std::int64_t hidden = args.x.dim(1);
  std::vector<double> sums(static_cast<std::size_t>(hidden));  // [H]
  for (std::int64_t t = 0; t < args.x.dim(0); ++t) {
    double mean = 0.0;
    for (std::int64_t h = 0; h < hidden; ++h) {
      double& s = sums[static_cast<std::size_t>(h)];
      s = args.x.row<float>(t)[h];
      if (args.residual.address != nullptr) {
        s += args.residual.row<float>(t)[h];
      }
      mean += s / static_cast<double>(hidden);
    }
    double variance = 0.0;
    for (const double s : sums) {
      variance += (s - mean) * (s - mean) / static_cast<double>(hidden);
    }
    const double scale = 1.0 / std::sqrt(variance + args.eps);
    for (std::int64_t h = 0; h < hidden; ++h) {
      const double centred = sums[static_cast<std::size_t>(h)] - mean;
      args.y.row<float>(t)[h] = static_cast<float>(centred * scale * args.weight.as<float>()[h] +
                                                   args.bias.as<float>()[h]);
    }
  }
}

}  // namespace plumb::ref
