// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/row_loop.h"

// Ops whose rows are independent.
namespace plumb::cpu {
namespace {

std::size_t num_bytes(std::int64_t floats) {
  return static_cast<std::size_t>(floats) * sizeof(float);
}

}  // namespace

void embedding(const Embedding& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const std::int64_t width = args.weight->cols();
  for_rows(args.ids.dim(0), 8 * width, stream, [&](std::int64_t t) {
    float* y = args.y.row<float>(t);
    args.weight->unpack_row(args.ids.as<const std::int32_t>()[t], y);
    if (args.scale != 1.0F) {
      kernels.scale(args.scale, width, y);
    }
  });
}

void rms_norm(const RmsNorm& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const std::int64_t width = args.weight.dim(0);
  const std::int64_t in_row = args.x.shape.rank() == 3 ? args.x.dim(1) : 1;  // heads
  for_rows(args.x.dim(0), in_row * width, stream, [&](std::int64_t t) {
    for (std::int64_t h = 0; h < in_row; ++h) {
      kernels.rms_norm(args.x.row<const float>(t) + h * width, args.weight.as<const float>(),
                       args.eps, width, args.y.row<float>(t) + h * width);
    }
  });
}

void add_rms_norm(const AddRmsNorm& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const std::int64_t width = args.weight.dim(0);
  for_rows(args.x.dim(0), width, stream, [&](std::int64_t t) {
    kernels.add_rms_norm(args.x.row<const float>(t), args.residual.row<float>(t),
                         args.weight.as<const float>(), args.eps, width, args.y.row<float>(t));
  });
}

void rope(const Rope& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const std::int64_t num_heads = args.x.dim(1);
  const std::int64_t dim = args.x.dim(2);
  for_rows(args.x.dim(0), num_heads * dim, stream, [&](std::int64_t t) {
    RotateHeads r;
    r.x = args.x.row<float>(t);
    r.num_heads = num_heads;
    r.dim = dim;
    r.num_pairs = args.inv_freq.dim(0);
    r.inv_freq = args.inv_freq.as<const float>();
    r.position = static_cast<float>(args.positions.as<const std::int32_t>()[t]);
    r.interleaved = args.style == RopeStyle::kInterleaved;
    r.magnitude = args.magnitude;
    kernels.rotate(r);
  });
}

void glu(const Glu& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const auto activate = args.activation == Activation::kSilu ? kernels.silu_mul : kernels.gelu_mul;
  for_rows(args.gate.dim(0), 4 * args.gate.dim(1), stream, [&](std::int64_t t) {
    activate(args.gate.row<const float>(t), args.up.row<const float>(t), args.gate.dim(1),
             args.y.row<float>(t));
  });
}

void kv_append(const KvAppend& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  const std::int64_t num_heads = args.k.dim(1);
  const std::int64_t dim = args.k.dim(2);
  const std::int64_t block_size = args.k_cache.dim(2);
  const auto store = [&](const Tensor& from, const Tensor& cache, std::int64_t t) {
    const std::int64_t slot = args.slot_mapping.as<const std::int32_t>()[t];
    for (std::int64_t h = 0; h < num_heads; ++h) {
      const float* x = from.row<const float>(t) + h * dim;
      const std::int64_t at =
          ((slot / block_size * num_heads + h) * block_size + slot % block_size) * dim;
      if (cache.dtype == DType::kF16) {
        kernels.to_half(x, dim, cache.as<std::uint16_t>() + at);
      } else {
        std::memcpy(cache.as<float>() + at, x, num_bytes(dim));
      }
    }
  };
  for_rows(args.k.dim(0), 2 * num_heads * dim, stream, [&](std::int64_t t) {
    if (args.slot_mapping.as<const std::int32_t>()[t] >= 0) {
      store(args.k, args.k_cache, t);
      store(args.v, args.v_cache, t);
    }
  });
}

void gather_rows(const GatherRows& args, Stream& stream) {
  const std::int64_t width = args.x.dim(1);
  for_rows(args.row_ids.dim(0), width, stream, [&](std::int64_t r) {
    std::memcpy(args.y.row<float>(r),
                args.x.row<const float>(args.row_ids.as<const std::int32_t>()[r]),
                num_bytes(width));
  });
}

void argmax(const Argmax& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  for_rows(args.x.dim(0), args.x.dim(1), stream, [&](std::int64_t r) {
    args.y.as<std::int32_t>()[r] =
        kernels.argmax(args.x.row<const float>(r), args.x.dim(1), args.best.as<float>() + r);
  });
}

void log_sum_exp(const LogSumExp& args, Stream& stream) {
  const KernelTable& kernels = cpu_stream(stream).kernels();
  for_rows(args.x.dim(0), args.x.dim(1), stream, [&](std::int64_t r) {
    args.y.as<float>()[r] = kernels.log_sum_exp(args.x.row<const float>(r), args.x.dim(1));
  });
}

}  // namespace plumb::cpu
