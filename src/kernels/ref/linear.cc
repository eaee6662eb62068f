// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {
namespace {

void multiply(const Tensor& x, const LinearOutput& output) {
  const Weight& weight = *output.weight;                       // [N,K]
  const auto* bias = output.bias.as<float>();                  // [N] or null
  const std::int64_t num_inputs = weight.cols();               // K
  std::vector<float> w(static_cast<std::size_t>(num_inputs));  // [K], one row of weight
  for (std::int64_t n = 0; n < weight.rows(); ++n) {
    weight.unpack_row(n, w.data());
    for (std::int64_t m = 0; m < x.dim(0); ++m) {
      const auto* row = x.row<float>(m);  // [K]
      double sum = 0.0;
      for (std::int64_t k = 0; k < num_inputs; ++k) {
        sum += static_cast<double>(row[k]) * w[static_cast<std::size_t>(k)];
      }
      if (bias != nullptr) {
        sum += bias[n];
      }
      output.y.row<float>(m)[n] = static_cast<float>(sum);
    }
  }
}

}  // namespace

void linear(const Linear& args, Stream&) {
  for (const LinearOutput& output : args.outputs) {
    multiply(args.x, output);
  }
}

}  // namespace plumb::ref
