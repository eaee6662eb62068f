// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {
namespace {

/// One head of row `row` against rows [begin, end) of its sequence -> y [D].
void attend_row(const VarlenAttention& args, std::int64_t head, std::int64_t row,
                std::int64_t begin, std::int64_t end) {
  const std::int64_t dim = args.q.dim(2);
  const auto* q = args.q.row<float>(row) + head * dim;                 // [D]
  std::vector<double> weights(static_cast<std::size_t>(end - begin));  // one for each key
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = begin; j < end; ++j) {
    const auto* k = args.k.row<float>(j) + head * dim;  // [D]
    double dot = 0.0;
    for (std::int64_t d = 0; d < dim; ++d) {
      dot += static_cast<double>(q[d]) * k[d];
    }
    weights[static_cast<std::size_t>(j - begin)] = dot * args.scale;
    largest = std::max(largest, dot * args.scale);
  }
  double sum = 0.0;
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    sum += weight;
  }
  for (std::int64_t d = 0; d < dim; ++d) {
    double mix = 0.0;
    for (std::int64_t j = begin; j < end; ++j) {
      const auto* v = args.v.row<float>(j) + head * dim;  // [D]
      mix += weights[static_cast<std::size_t>(j - begin)] / sum * v[d];
    }
    args.y.row<float>(row)[head * dim + d] = static_cast<float>(mix);
  }
}

}  // namespace

void varlen_attention(const VarlenAttention& args, Stream&) {
  const auto* begins = args.cu_seqlens.as<std::int32_t>();  // [B+1]
  const std::int64_t num_sequences = args.cu_seqlens.dim(0) - 1;
  PLUMB_CHECK(begins[0] == 0 && begins[num_sequences] == args.q.dim(0),
              "sequences from row " + std::to_string(begins[0]) + " to " +
                  std::to_string(begins[num_sequences]) + " of " + std::to_string(args.q.dim(0)));
  for (std::int64_t b = 0; b < num_sequences; ++b) {
    for (std::int64_t row = begins[b]; row < begins[b + 1]; ++row) {
      for (std::int64_t head = 0; head < args.q.dim(1); ++head) {
        attend_row(args, head, row, begins[b], begins[b + 1]);
      }
    }
  }
}

}  // namespace plumb::ref
