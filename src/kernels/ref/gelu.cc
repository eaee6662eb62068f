// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {
namespace {

double gelu_of(GeluForm form, double x) {
  constexpr double kSqrtHalf = 0.70710678118654752;
  constexpr double kSqrt2OverPi = 0.7978845608028654;
  // erfc instead of 1 + erf: the tail on the left keeps its digits.
  return form == GeluForm::kErf
             ? 0.5 * x * std::erfc(-x * kSqrtHalf)
             : 0.5 * x * (1.0 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)));
}

}  // namespace

void gelu(const Gelu& args, Stream&) {
  for (std::int64_t t = 0; t < args.y.dim(0); ++t) {
    const auto* x = args.x.row<float>(t);  // [I]
    auto* y = args.y.row<float>(t);        // [I]
    for (std::int64_t i = 0; i < args.y.dim(1); ++i) {
      y[i] = static_cast<float>(gelu_of(args.form, x[i]));
    }
  }
}

}  // namespace plumb::ref
