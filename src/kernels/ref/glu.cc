// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {
namespace {

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGeluTanh:
      break;
  }
  constexpr double kSqrt2OverPi = 0.7978845608028654;
  return 0.5 * x * (1.0 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)));
}

}  // namespace

void glu(const Glu& args, Stream&) {
  for (std::int64_t t = 0; t < args.y.dim(0); ++t) {
    const auto* gate = args.gate.row<float>(t);  // [I]
    const auto* up = args.up.row<float>(t);      // [I]
    auto* y = args.y.row<float>(t);              // [I]
    for (std::int64_t i = 0; i < args.y.dim(1); ++i) {
      y[i] = static_cast<float>(activate(args.activation, gate[i]) * up[i]);
    }
  }
}

}  // namespace plumb::ref
