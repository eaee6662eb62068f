// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/ops.h"

// Item: a tile of rows of one sequence at one head. The kernel is that of the paged cache: keys and
// values where they lie are a cache of blocks of one row, each at its own place in the table.
namespace plumb::cpu {
namespace {

constexpr std::int64_t kVarlenTileRows = 128;
constexpr std::int64_t kVarlenKeys = 32;  // of one step of the kernel

/// Sizes of the call and of one worker's memory.
struct VarlenShape {
  std::int64_t num_heads;
  std::int64_t dim;
  std::int64_t padded_dim;

  std::int64_t work_floats() const {
    return 2 * kVarlenKeys * padded_dim + kVarlenTileRows * (2 * padded_dim + 3);
  }
};

/// Rows [begin, end) of the sequence of rows [first, last).
struct VarlenTile {
  std::int64_t first;
  std::int64_t last;
  std::int64_t begin;
  std::int64_t end;
};

void attend_varlen_tile(const VarlenAttention& args, const VarlenShape& s, const VarlenTile& tile,
                        std::int64_t head, const std::int32_t* rows, float* work,
                        const KernelTable& kernels) {
  constexpr float kLog2E = 1.44269504F;
  AttentionChunk c;
  c.k_cache = args.k.as<const float>() + head * s.dim;
  c.v_cache = args.v.as<const float>() + head * s.dim;
  c.block_table = rows + tile.first;
  c.block_size = 1;
  c.block_stride = args.k.row_stride;
  c.is_f16 = false;
  c.dim = s.dim;
  c.padded_dim = s.padded_dim;
  c.key_end = tile.last - tile.first;
  c.prefetch_end = c.key_end;
  c.num_rows = tile.end - tile.begin;
  const auto take = [&work](std::int64_t count) {
    float* taken = work;
    work += count;
    return taken;
  };
  c.keys = take(kVarlenKeys * s.padded_dim);
  c.values = take(kVarlenKeys * s.padded_dim);
  float* q = take(kVarlenTileRows * s.padded_dim);
  c.o = take(kVarlenTileRows * s.padded_dim);
  c.m = take(kVarlenTileRows);
  c.l = take(kVarlenTileRows);
  auto* row_last = reinterpret_cast<std::int32_t*>(take(kVarlenTileRows));
  for (std::int64_t row = 0; row < c.num_rows; ++row) {
    const float* x = args.q.row<const float>(tile.begin + row) + head * s.dim;
    for (std::int64_t d = 0; d < s.dim; ++d) {
      q[row * s.padded_dim + d] = x[d] * (args.scale * kLog2E);
    }
    row_last[row] = static_cast<std::int32_t>(c.key_end - 1);
  }
  c.q = q;
  c.row_last = row_last;
  kernels.attention_chunk(c);
  for (std::int64_t row = 0; row < c.num_rows; ++row) {
    kernels.attention_finish(s.dim, c.m[row], c.l[row], c.o + row * s.padded_dim,
                             -std::numeric_limits<float>::infinity(),
                             args.y.row<float>(tile.begin + row) + head * s.dim);
  }
}

/// Fills the first tile of each sequence, and the number of all of them behind the last.
void count_tiles(const VarlenAttention& args, std::vector<std::int64_t>* first_tiles) {
  const auto* begins = args.cu_seqlens.as<const std::int32_t>();
  const std::int64_t num_sequences = args.cu_seqlens.dim(0) - 1;
  first_tiles->assign(1, 0);
  for (std::int64_t b = 0; b < num_sequences; ++b) {
    const std::int64_t length = begins[b + 1] - begins[b];
    first_tiles->push_back(first_tiles->back() + (length + kVarlenTileRows - 1) / kVarlenTileRows);
  }
}

VarlenTile varlen_tile_at(const VarlenAttention& args, const std::vector<std::int64_t>& first_tiles,
                          std::int64_t tile) {
  const auto* begins = args.cu_seqlens.as<const std::int32_t>();
  const auto after = std::upper_bound(first_tiles.begin(), first_tiles.end(), tile);
  const std::int64_t b = after - first_tiles.begin() - 1;
  VarlenTile t{};
  t.first = begins[b];
  t.last = begins[b + 1];
  t.begin = t.first + (tile - first_tiles[static_cast<std::size_t>(b)]) * kVarlenTileRows;
  t.end = std::min(t.begin + kVarlenTileRows, t.last);
  return t;
}

}  // namespace

void varlen_attention(const VarlenAttention& args, Stream& any_stream) {
  const std::int64_t num_rows = args.q.dim(0);
  if (num_rows == 0) {
    return;
  }
  CpuStream& stream = cpu_stream(any_stream);
  const KernelTable& kernels = stream.kernels();
  VarlenShape s{};
  s.num_heads = args.q.dim(1);
  s.dim = args.q.dim(2);
  s.padded_dim = (s.dim + 15) / 16 * 16;
  std::vector<std::int64_t>& first_tiles = stream.item_begins();
  count_tiles(args, &first_tiles);
  auto* rows = reinterpret_cast<std::int32_t*>(stream.shared_work(num_rows));
  for (std::int64_t row = 0; row < num_rows; ++row) {
    rows[row] = static_cast<std::int32_t>(row);
  }
  stream.pool().run(
      first_tiles.back() * s.num_heads, 1, [&](std::int64_t begin, std::int64_t end, int worker) {
        float* work = stream.work(worker, s.work_floats());
        for (std::int64_t i = begin; i < end; ++i) {
          attend_varlen_tile(args, s, varlen_tile_at(args, first_tiles, i / s.num_heads),
                             i % s.num_heads, rows, work, kernels);
        }
      });
}

}  // namespace plumb::cpu
