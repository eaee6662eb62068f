// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "kernels/ref/ref_ops.h"

namespace plumb::ref {

void embedding(const Embedding& args, Stream&) {
  const Weight& weight = *args.weight;            // [V,H]
  const auto* ids = args.ids.as<std::int32_t>();  // [T]
  const std::int64_t hidden = weight.cols();
  for (std::int64_t t = 0; t < args.ids.dim(0); ++t) {
    PLUMB_CHECK(ids[t] >= 0 && ids[t] < weight.rows(),
                "token id " + std::to_string(ids[t]) + " of " + std::to_string(weight.rows()));
    auto* y = args.y.row<float>(t);  // [H]
    weight.unpack_row(ids[t], y);
    for (std::int64_t h = 0; h < hidden; ++h) {
      y[h] *= args.scale;
    }
  }
}

}  // namespace plumb::ref
