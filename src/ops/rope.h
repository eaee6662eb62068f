// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "ops/cost.h"
#include "tensor/tensor.h"

namespace plumb {

enum class RopeStyle : unsigned char {
  kInterleaved,  ///< pairs (2i, 2i+1): the Llama rows of GGUF files
  kHalfSplit,    ///< pairs (i, i + R/2): Hugging Face checkpoints, Qwen, Gemma
};

/// Rotates the first R elements of each head by position * inv_freq[i], in place; the other D - R
/// stay.
///
/// (a, b) = (a cos - b sin, a sin + b cos) * magnitude, angle of pair i = positions[t] *
/// inv_freq[i]. Every scaling (linear, llama3, yarn, longrope) is in inv_freq and magnitude, made
/// once at load.
///
/// Shapes    x f32 [T,Hx,D] (q or k; any row stride); positions i32 [T] >= 0; inv_freq f32 [R/2];
///           R even, R <= D.
/// Numerics  position * inv_freq is reduced with an error <= 1e-6 rad for positions up to 2^20 (a
///           product rounded to f32 is not enough).
/// Capture   safe: no allocation, no host sync.
/// Source    Su et al. 2021.
///
/// Worked case: R = D = 4, inv_freq = [1, 0.5], position 1, x = [1,2,3,4]:
/// kHalfSplit -> [-1.984111, -0.162537, 2.462378, 4.469181],
/// kInterleaved -> [-1.142640, 1.922076, 0.715046, 4.948607].
struct Rope {
  Tensor x;
  Tensor positions;
  Tensor inv_freq;
  RopeStyle style = RopeStyle::kHalfSplit;
  float magnitude = 1.0F;
};

Status validate(const Rope&);
Cost cost(const Rope&);

}  // namespace plumb
