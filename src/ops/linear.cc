// SPDX-License-Identifier: Apache-2.0
#include "ops/linear.h"

#include <string>

#include "ops/shape_check.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxOutputs = 4;

bool has_bias(const LinearOutput& output) {
  return output.bias.address != nullptr || output.bias.shape.rank() > 0;
}

void check_output(ShapeCheck& c, const Linear& args, std::size_t i, Dim& M, Dim& K) {
  const LinearOutput& output = args.outputs[i];
  const std::string which = "outputs[" + std::to_string(i) + "].";
  if (!c.require(output.weight != nullptr, which + "weight is null").status().ok()) {
    return;
  }
  Dim N("N");
  const Weight& weight = *output.weight;
  c.match(which + "weight", Shape{weight.rows(), weight.cols()}, {N, K})
      .match(which + "y", output.y, DType::kF32, {M, N})
      .disjoint(which + "y", output.y, "x", args.x)
      .disjoint(which + "y", output.y, "scratch", args.scratch);
  if (has_bias(output)) {
    c.match_dense(which + "bias", output.bias, DType::kF32, {N});
  }
  for (std::size_t j = 0; j < i; ++j) {
    c.disjoint(which + "y", output.y, "outputs[" + std::to_string(j) + "].y", args.outputs[j].y);
  }
}

}  // namespace

std::int64_t linear_scratch_bytes(std::int64_t m, std::int64_t k) {
  // A row takes K int8, and a scale and a sum of 4 bytes for each 32 elements; 4 K also holds a
  // float copy.
  constexpr std::int64_t kRounding = 256;
  const std::int64_t row = (k + kRounding - 1) / kRounding * kRounding * 4;
  return m * row + 4096;
}

Status validate(const Linear& args) {
  Dim M("M");
  Dim K("K");
  ShapeCheck c("linear");
  c.require(!args.outputs.empty() && args.outputs.size() <= kMaxOutputs,
            "has " + std::to_string(args.outputs.size()) + " outputs, expected 1 to 4")
      .match("x", args.x, DType::kF32, {M, K});
  if (!c.status().ok()) {
    return c.status();
  }
  if (M.value() > 0) {
    c.scratch(args.scratch, linear_scratch_bytes(M.value(), K.value()))
        .disjoint("x", args.x, "scratch", args.scratch);
  }
  for (std::size_t i = 0; i < args.outputs.size(); ++i) {
    check_output(c, args, i, M, K);
  }
  return c.status();
}

Cost cost(const Linear& args) {
  const std::int64_t m = args.x.dim(0);
  const std::int64_t k = args.x.dim(1);
  if (m == 0) {
    return {};
  }
  Cost sum{.flops = 0, .bytes_read = m * k * 4, .bytes_written = 0};
  for (const LinearOutput& output : args.outputs) {
    const std::int64_t n = output.weight->rows();
    sum.flops += 2 * m * n * k;
    sum.bytes_read += n * row_bytes(output.weight->dtype(), k);
    sum.bytes_written += m * n * 4;
    if (has_bias(output)) {
      sum.flops += m * n;
      sum.bytes_read += n * 4;
    }
  }
  return sum;
}

}  // namespace plumb
