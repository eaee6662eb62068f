// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {

void pool(const Pool& args, Stream&) {
  const auto* begins = args.cu_seqlens.as<std::int32_t>();            // [B+1]
  std::vector<double> sums(static_cast<std::size_t>(args.x.dim(1)));  // [H]
  for (std::int64_t b = 0; b < args.y.dim(0); ++b) {
    PLUMB_CHECK(begins[b] < begins[b + 1] && begins[b + 1] <= args.x.dim(0),
                "rows " + std::to_string(begins[b]) + " to " + std::to_string(begins[b + 1]) +
                    " of " + std::to_string(args.x.dim(0)));
    const bool is_last = args.pooling == Pooling::kLast;
    const std::int64_t first = is_last ? begins[b + 1] - 1 : begins[b];
    const std::int64_t end = args.pooling == Pooling::kFirst ? first + 1 : begins[b + 1];
    for (std::size_t h = 0; h < sums.size(); ++h) {
      sums[h] = 0.0;
      for (std::int64_t row = first; row < end; ++row) {
        sums[h] += args.x.row<float>(row)[h] / static_cast<double>(end - first);
      }
    }
    std::transform(sums.begin(), sums.end(), args.y.row<float>(b),
                   [](double sum) { return static_cast<float>(sum); });
  }
}

}  // namespace plumb::ref
