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
/// (a, b) = (a cos - b sin, a sin + b cos) * magnitude, with the angle of pair i = positions[t] *
/// inv_freq[i].
///
/// Shapes    x f32 [T,Hx,D] (q or k; any row stride); positions i32 [T] >= 0; inv_freq f32 [R/2]; R
/// even, R <= D. Numerics  the angle is computed in f32 or wider: position * inv_freq reduced with
/// error <= 1e-6 rad up to 2^20.
///           Every scaling (linear, llama3, yarn, longrope) is in inv_freq and magnitude, made once
///           at load.
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
