// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

enum class Activation : unsigned char {
  kSilu,      ///< x / (1 + exp(-x))
  kGeluTanh,  ///< 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
};

/// y[t,i] = activation(gate[t,i]) * up[t,i]  (SwiGLU, GeGLU)
///
/// Shapes    gate, up, y f32 [T,I]; y may be gate or up.
/// Numerics  error of the activation <= 1e-6 of its value + 1e-7 |gate| (the tail of GELU cancels).
/// Capture   safe: no allocation, no host sync.
/// Source    Shazeer 2020; Hendrycks & Gimpel 2016 (tanh form).
///
/// Worked case: gate = [1,-2], up = [2,3]: kSilu -> [1.462117, -0.715218],
/// kGeluTanh -> [1.682384, -0.136207].
struct Glu {
  Tensor gate;
  Tensor up;
  Tensor y;
  Activation activation = Activation::kSilu;
};

Status validate(const Glu&);
Cost cost(const Glu&);

}  // namespace plumb
