// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {

void gather_rows(const GatherRows& args, Stream&) {
  const auto* row_ids = args.row_ids.as<std::int32_t>();  // [R]
  for (std::int64_t r = 0; r < args.y.dim(0); ++r) {
    PLUMB_CHECK(row_ids[r] >= 0 && row_ids[r] < args.x.dim(0),
                "row " + std::to_string(row_ids[r]) + " of " + std::to_string(args.x.dim(0)));
    const auto* x = args.x.row<float>(row_ids[r]);  // [H]
    std::copy(x, x + args.x.dim(1), args.y.row<float>(r));
  }
}

void argmax(const Argmax& args, Stream&) {
  for (std::int64_t r = 0; r < args.x.dim(0); ++r) {
    const auto* x = args.x.row<float>(r);  // [V]
    std::int32_t best = 0;
    bool has_nan = false;
    for (std::int32_t v = 0; v < args.x.dim(1); ++v) {
      has_nan = has_nan || std::isnan(x[v]);
      best = x[v] > x[best] ? v : best;
    }
    args.y.as<std::int32_t>()[r] = has_nan ? -1 : best;
    args.best.as<float>()[r] = has_nan ? std::numeric_limits<float>::quiet_NaN() : x[best];
  }
}

void log_sum_exp(const LogSumExp& args, Stream&) {
  for (std::int64_t r = 0; r < args.x.dim(0); ++r) {
    const auto* x = args.x.row<float>(r);  // [V]
    const double largest = *std::max_element(x, x + args.x.dim(1));
    double sum = 0.0;
    for (std::int64_t v = 0; v < args.x.dim(1); ++v) {
      // exp(-inf - -inf) has no value; such an entry adds 0.
      sum += std::isinf(x[v]) && x[v] < 0.0F ? 0.0 : std::exp(x[v] - largest);
    }
    args.y.as<float>()[r] = static_cast<float>(sum > 0.0 ? largest + std::log(sum) : largest);
  }
}

}  // namespace plumb::ref
