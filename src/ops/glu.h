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
/// Numerics  relative error of the activation <= 1e-6.
struct Glu {
  Tensor gate;
  Tensor up;
  Tensor y;
  Activation activation = Activation::kSilu;
};

Status validate(const Glu&);
Cost cost(const Glu&);

}  // namespace plumb
