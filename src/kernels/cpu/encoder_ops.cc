// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/row_loop.h"

namespace plumb::cpu {

void add(const Add& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const std::int64_t width = args.x.dim(1);
  for_rows(args.x.dim(0), width, stream, [&](std::int64_t t) {
    kernels.add(args.x.row<const float>(t), width, args.y.row<float>(t));
  });
}

void layer_norm(const LayerNorm& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const std::int64_t width = args.x.dim(1);
  for_rows(args.x.dim(0), 2 * width, stream, [&](std::int64_t t) {
    const float* residual =
        args.residual.address == nullptr ? nullptr : args.residual.row<const float>(t);
    kernels.layer_norm(args.x.row<const float>(t), residual, args.weight.as<const float>(),
                       args.bias.as<const float>(), args.eps, width, args.y.row<float>(t));
  });
}

void gelu(const Gelu& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const auto apply = args.form == GeluForm::kErf ? kernels.gelu_erf : kernels.gelu_tanh;
  for_rows(args.x.dim(0), 4 * args.x.dim(1), stream, [&](std::int64_t t) {
    apply(args.x.row<const float>(t), args.x.dim(1), args.y.row<float>(t));
  });
}

void pool(const Pool& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const auto* begins = args.cu_seqlens.as<const std::int32_t>();
  const std::int64_t num_sequences = args.y.dim(0);
  const std::int64_t width = args.x.dim(1);
  const std::int64_t mean_rows = args.x.dim(0) / std::max(num_sequences, std::int64_t{1});
  for_rows(num_sequences, mean_rows * width, stream, [&](std::int64_t b) {
    const std::int64_t first = args.pooling == Pooling::kLast ? begins[b + 1] - 1 : begins[b];
    const std::int64_t end = args.pooling == Pooling::kMean ? begins[b + 1] : first + 1;
    float* y = args.y.row<float>(b);
    std::memcpy(y, args.x.row<const float>(first), static_cast<std::size_t>(width) * sizeof(float));
    for (std::int64_t row = first + 1; row < end; ++row) {
      kernels.add(args.x.row<const float>(row), width, y);
    }
    if (end - first > 1) {
      kernels.scale(1.0F / static_cast<float>(end - first), width, y);
    }
  });
}

}  // namespace plumb::cpu
