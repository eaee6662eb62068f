// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

enum class GeluForm : unsigned char {
  kErf,   ///< x / 2 (1 + erf(x / sqrt 2))
  kTanh,  ///< x / 2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
};

/// y[t,i] = gelu(x[t,i])
///
/// Shapes    x, y f32 [T,I]; any row stride; y may be x.
/// Numerics  error <= 1.3e-6 of the value + 4e-7 |x| (the tail cancels).
/// Capture   safe: no allocation, no host sync.
/// Source    Hendrycks & Gimpel 2016.
///
/// Worked case: x = [1,-2]: kErf -> [0.841345, -0.045500], kTanh -> [0.841192, -0.045402].
struct Gelu {
  Tensor x;
  Tensor y;
  GeluForm form = GeluForm::kErf;
};

Status validate(const Gelu&);
Cost cost(const Gelu&);

}  // namespace plumb
