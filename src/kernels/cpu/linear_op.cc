// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/panel_layout.h"

// Phases: 1 quantise x into tiles, 2 the panels of all outputs as one list of items.
//
// Weights of Q13 take x in a form of their own: where a call has both kinds, it runs once for each.
//
// Few rows: the items are streamed once, each worker its own part. Many rows: a block of rows whose
// tiles fit the second cache meets every panel before the next block starts.
namespace plumb::cpu {
namespace {

constexpr std::int64_t kSerialElements = 16384;  // of x, quantised without the pool
constexpr std::int64_t kRowBlockBytes = std::int64_t{512} << 10;  // tiles of a block of rows
constexpr std::size_t kMaxOutputs = 4;

/// One output and its place in the list of panels.
struct Target {
  const LinearOutput* output = nullptr;
  const LinearKernel* kernel = nullptr;
  std::int64_t first = 0;  ///< panel in the list
  std::int64_t num_panels = 0;
};

struct Plan {
  std::array<Target, kMaxOutputs> targets;
  std::size_t num_targets = 0;
  std::int64_t num_panels = 0;
  bool quantizes = false;
  bool needs_halves = false;
  bool rounds = false;  ///< x to 13 bits; all weights are of Q13
  std::int64_t panels_at_once = 1;
};

bool reads_halves(PanelType type) {
  return type == kTypeQ2_K || type == kTypeQ3_K || type == kTypeQ6_K;
}

Plan make_plan(const Linear& args, CpuStream& stream) {
  Plan plan;
  const std::int64_t rows = stream.kernels().panel_rows;
  for (const LinearOutput& output : args.outputs) {
    const Weight& weight = *output.weight;
    Target& target = plan.targets[plan.num_targets++];
    target.output = &output;
    target.first = plan.num_panels;
    target.num_panels = (weight.rows() + rows - 1) / rows;
    target.kernel = stream.linear_kernels()
                        .choose({.dtype = weight.dtype(),
                                 .m = args.x.dim(0),
                                 .n = weight.rows(),
                                 .k = weight.cols(),
                                 .layout = weight.layout(),
                                 .num_threads = stream.pool().num_threads()})
                        .kernel;
    if (target.kernel->product != nullptr) {
      const PanelType type = target.kernel->type;
      plan.rounds |= type == kTypeQ13;
      plan.quantizes |= type > kTypeBF16 && type != kTypeQ13;
      plan.needs_halves |= reads_halves(type);
    }
    plan.num_panels += target.num_panels;
  }
  plan.panels_at_once = plan.rounds ? stream.kernels().q13_panels : 1;
  return plan;
}

/// Rows of the tile that begins at `row` of m rows: full tiles, then falling powers of two.
std::int64_t rows_of_tile(std::int64_t row, std::int64_t m, std::int64_t tile_rows) {
  const auto left = static_cast<std::uint64_t>(m - row);
  return std::min(tile_rows, static_cast<std::int64_t>(std::bit_floor(left)));
}

/// Bytes of a row of x in the form that the weights take.
std::int64_t tile_row_bytes(const Plan& plan, std::int64_t k) {
  return plan.rounds ? k / kQ13Elems * kXQ13Bytes : k / 32 * kXBlockBytes;
}

void quantize_rows(const Linear& args, const Plan& plan, CpuStream& stream) {
  const std::int64_t m = args.x.dim(0);
  const std::int64_t k = args.x.dim(1);
  const KernelTable& kernels = stream.kernels();
  auto* tiles = args.scratch.as<unsigned char>();
  const auto body = [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t stop = std::min(end * kernels.tile_rows, m);
    for (std::int64_t row = begin * kernels.tile_rows; row < stop;) {
      const std::int64_t rows = rows_of_tile(row, m, kernels.tile_rows);
      const auto* x = args.x.row<const float>(row);
      unsigned char* tile = tiles + row * tile_row_bytes(plan, k);
      if (plan.rounds) {
        kernels.round_tile(x, args.x.row_stride, rows, k, tile);
      } else {
        kernels.quantize_tile(x, args.x.row_stride, rows, k, plan.needs_halves, tile);
      }
      row += rows;
    }
  };
  const std::int64_t num_tiles = (m + kernels.tile_rows - 1) / kernels.tile_rows;
  if (m * k <= kSerialElements) {
    body(0, num_tiles, 0);
  } else {
    stream.pool().run(num_tiles, 1, body);
  }
}

/// A weight in another layout: its rows are expanded one by one. Slow, exact.
void multiply_rows(const Linear& args, const LinearOutput& output, std::int64_t begin,
                   std::int64_t end, float* weights) {
  const std::int64_t k = args.x.dim(1);
  for (std::int64_t n = begin; n < end; ++n) {
    output.weight->unpack_row(n, weights);
    for (std::int64_t m = 0; m < args.x.dim(0); ++m) {
      const float* x = args.x.row<const float>(m);
      double sum = 0.0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += static_cast<double>(x[i]) * static_cast<double>(weights[i]);
      }
      float value = static_cast<float>(sum);
      if (output.bias.address != nullptr) {
        value += output.bias.as<const float>()[n];
      }
      output.y.row<float>(m)[n] = value;
    }
  }
}

PanelProduct product_of(const Linear& args, const Target& target, int rows) {
  const LinearOutput& output = *target.output;
  PanelProduct p;
  p.panels = reinterpret_cast<const unsigned char*>(output.weight->bytes().data());
  p.panel_bytes = panel_bytes(target.kernel->type, rows, output.weight->cols());
  p.n = output.weight->rows();
  p.k = output.weight->cols();
  p.x_tiles = args.scratch.as<const unsigned char>();
  p.x = args.x.as<const float>();
  p.x_stride = args.x.row_stride;
  p.y = output.y.as<float>();
  p.y_stride = output.y.row_stride;
  p.bias = output.bias.as<const float>();
  return p;
}

/// Panels [begin, end) of the list times rows [row_begin, row_end) of x.
void multiply(const Linear& args, const Plan& plan, std::int64_t begin, std::int64_t end,
              std::int64_t row_begin, std::int64_t row_end, int worker, CpuStream& stream) {
  const KernelTable& kernels = stream.kernels();
  for (std::size_t i = 0; i < plan.num_targets; ++i) {
    const Target& target = plan.targets[i];
    const std::int64_t first = std::max(begin - target.first, std::int64_t{0});
    const std::int64_t last = std::min(end - target.first, target.num_panels);
    if (first >= last) {
      continue;
    }
    if (target.kernel->product == nullptr) {
      if (row_begin == 0) {
        multiply_rows(args, *target.output, first * kernels.panel_rows,
                      std::min(last * kernels.panel_rows, target.output->weight->rows()),
                      stream.work(worker, args.x.dim(1)));
      }
      continue;
    }
    PanelProduct p = product_of(args, target, kernels.panel_rows);
    p.panel_begin = first;
    p.panel_end = last;
    p.row_begin = row_begin;
    p.row_end = row_end;
    target.kernel->product(p);
  }
}

/// All weights are of Q13, or none is.
void run_linear(const Linear& args, CpuStream& stream) {
  const std::int64_t m = args.x.dim(0);
  const KernelTable& kernels = stream.kernels();
  const Plan plan = make_plan(args, stream);
  if (plan.quantizes || plan.rounds) {
    quantize_rows(args, plan, stream);
  }
  const std::int64_t row_bytes = tile_row_bytes(plan, args.x.dim(1));
  const std::int64_t tiles_in_block = std::max(
      kRowBlockBytes / std::max(row_bytes * kernels.tile_rows, std::int64_t{1}), std::int64_t{1});
  const std::int64_t block_rows = tiles_in_block * kernels.tile_rows;
  const std::int64_t num_blocks = (m + block_rows - 1) / block_rows;
  const std::int64_t pieces = 8 * stream.pool().num_threads();
  const std::int64_t wanted = plan.num_panels * num_blocks / pieces;
  const std::int64_t grain =
      std::max(wanted / plan.panels_at_once, std::int64_t{1}) * plan.panels_at_once;
  stream.pool().run(plan.num_panels * num_blocks, grain,
                    [&](std::int64_t begin, std::int64_t end, int worker) {
                      while (begin < end) {
                        const std::int64_t block = begin / plan.num_panels;
                        const std::int64_t panel = begin - block * plan.num_panels;
                        const std::int64_t count = std::min(end - begin, plan.num_panels - panel);
                        multiply(args, plan, panel, panel + count, block * block_rows,
                                 std::min((block + 1) * block_rows, m), worker, stream);
                        begin += count;
                      }
                    });
}

bool is_q13(const LinearOutput& output) {
  return output.weight->dtype() == DType::kQ13;
}

}  // namespace

void linear(const Linear& args, Stream& any_stream) {
  if (args.x.dim(0) == 0) {
    return;
  }
  CpuStream& stream = cpu_stream(any_stream);
  for (const bool rounded : {true, false}) {
    std::array<LinearOutput, kMaxOutputs> outputs;
    std::size_t count = 0;
    for (const LinearOutput& output : args.outputs) {
      if (is_q13(output) == rounded) {
        outputs[count++] = output;
      }
    }
    if (count > 0) {
      run_linear({args.x, std::span(outputs).first(count), args.scratch}, stream);
    }
  }
}

}  // namespace plumb::cpu
