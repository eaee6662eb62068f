// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/ops.h"

// Item: a tile of query tokens of one sequence, all query heads of one KV head (rows = tokens x g).
//
//   many items  an item walks its chunks of 128 keys in order and joins their results
//   few items   (decode of few sequences) each chunk is an item of its own, its result goes to the
//               stream's memory and a second phase joins them in the same order with the same
//               operations
//
// Both ways give the same bits; only the time differs.
namespace plumb::cpu {
namespace {

constexpr std::int64_t kChunk = 128;
constexpr std::int64_t kKeys = 32;
constexpr std::int64_t kTileRows = 48;
constexpr float kLog2E = 1.44269504F;
constexpr float kNoSink = -std::numeric_limits<float>::infinity();

struct Shape4 {
  std::int64_t num_q_heads;
  std::int64_t num_kv_heads;
  std::int64_t group;  ///< query heads of a KV head
  std::int64_t dim;
  std::int64_t padded_dim;
  std::int64_t tile_tokens;
};

Shape4 attention_shape(const PagedAttention& args) {
  Shape4 s{};
  s.num_q_heads = args.q.dim(1);
  s.num_kv_heads = args.k_cache.dim(1);
  s.group = s.num_q_heads / s.num_kv_heads;
  s.dim = args.q.dim(2);
  s.padded_dim = (s.dim + 15) / 16 * 16;
  s.tile_tokens = std::max(kTileRows / s.group, std::int64_t{1});
  return s;
}

/// The query tokens of one sequence.
struct Sequence {
  std::int64_t index;
  std::int64_t first_token;
  std::int64_t num_tokens;
  std::int64_t first_position;
};

Sequence sequence_at(const PagedAttention& args, std::int64_t b) {
  const auto* begins = args.cu_seqlens_q.as<const std::int32_t>();
  const std::int64_t num_tokens = begins[b + 1] - begins[b];
  return {b, begins[b], num_tokens, args.context_lens.as<const std::int32_t>()[b] - num_tokens};
}

/// Keys that some token at positions [first, last] sees.
struct KeyRange {
  std::int64_t begin;
  std::int64_t end;
};

KeyRange visible_keys(const PagedAttention& args, std::int64_t first, std::int64_t last) {
  const std::int64_t begin =
      args.window > 0 ? std::max(first - args.window + 1, std::int64_t{0}) : 0;
  return {begin, last + 1};
}

/// Work memory of one worker.
struct Work {
  float* q;
  float* o;
  float* total;
  float* m;
  float* l;
  float* total_m;
  float* total_l;
  std::int32_t* row_last;
  float* keys;
  float* values;
};

Work work_of(CpuStream& stream, int worker, const Shape4& s) {
  const std::int64_t rows = s.tile_tokens * s.group;
  const std::int64_t padded_rows = (rows + 15) / 16 * 16;
  float* p =
      stream.work(worker, rows * s.padded_dim * 3 + 2 * kKeys * s.padded_dim + 5 * padded_rows);
  Work w{};
  const auto take = [&p](std::int64_t count) {
    float* taken = p;
    p += count;
    return taken;
  };
  w.keys = take(kKeys * s.padded_dim);
  w.values = take(kKeys * s.padded_dim);
  w.q = take(rows * s.padded_dim);
  w.o = take(rows * s.padded_dim);
  w.total = take(rows * s.padded_dim);
  w.m = take(padded_rows);
  w.l = take(padded_rows);
  w.total_m = take(padded_rows);
  w.total_l = take(padded_rows);
  w.row_last = reinterpret_cast<std::int32_t*>(take(padded_rows));
  return w;
}

/// A tile of query tokens of a sequence at one KV head.
struct Tile {
  Sequence sequence;
  std::int64_t begin;  ///< token of the sequence
  std::int64_t end;
  std::int64_t kv_head;

  std::int64_t first_position() const { return sequence.first_position + begin; }

  std::int64_t last_position() const { return sequence.first_position + end - 1; }
};

AttentionChunk chunk_of(const PagedAttention& args, const Shape4& s, const Tile& tile,
                        const Work& work) {
  AttentionChunk c;
  c.block_size = args.k_cache.dim(2);
  c.block_stride = s.num_kv_heads * c.block_size * s.dim;
  c.is_f16 = args.k_cache.dtype == DType::kF16;
  const std::int64_t head_bytes = tile.kv_head * c.block_size * s.dim * (c.is_f16 ? 2 : 4);
  c.k_cache = args.k_cache.as<const std::byte>() + head_bytes;
  c.v_cache = args.v_cache.as<const std::byte>() + head_bytes;
  c.block_table = args.block_table.row<const std::int32_t>(tile.sequence.index);
  c.dim = s.dim;
  c.padded_dim = s.padded_dim;
  c.num_rows = (tile.end - tile.begin) * s.group;
  c.q = work.q;
  c.row_last = work.row_last;
  c.window = args.window;
  c.softcap = args.softcap;
  c.keys = work.keys;
  c.values = work.values;
  c.o = work.o;
  c.m = work.m;
  c.l = work.l;
  return c;
}

/// Copies the tile's query rows times the scale, in base 2 unless a soft cap needs the true scores.
void load_queries(const PagedAttention& args, const Shape4& s, const Tile& tile, const Work& work) {
  const float factor = args.softcap > 0.0F ? args.scale : args.scale * kLog2E;
  std::int64_t row = 0;
  for (std::int64_t t = tile.begin; t < tile.end; ++t) {
    const float* q =
        args.q.row<const float>(tile.sequence.first_token + t) + tile.kv_head * s.group * s.dim;
    for (std::int64_t h = 0; h < s.group; ++h, ++row) {
      for (std::int64_t d = 0; d < s.dim; ++d) {
        work.q[row * s.padded_dim + d] = q[h * s.dim + d] * factor;
      }
      work.row_last[row] = static_cast<std::int32_t>(tile.sequence.first_position + t);
    }
  }
}

void run_chunk(const KernelTable& kernels, AttentionChunk* chunk, const KeyRange& keys,
               std::int64_t index) {
  chunk->key_begin = std::max(index * kChunk, keys.begin / kKeys * kKeys);
  chunk->key_end = std::min((index + 1) * kChunk, keys.end);
  chunk->first_seen = keys.begin;
  chunk->prefetch_end = keys.end;
  kernels.attention_chunk(*chunk);
}

float sink_of(const PagedAttention& args, std::int64_t head) {
  return args.sinks.address == nullptr ? kNoSink : args.sinks.as<const float>()[head] * kLog2E;
}

void finish_row(const PagedAttention& args, const KernelTable& kernels, std::int64_t token,
                std::int64_t head, float m, float l, const float* o) {
  const std::int64_t dim = args.q.dim(2);
  kernels.attention_finish(dim, m, l, o, sink_of(args, head),
                           args.y.row<float>(token) + head * dim);
}

/// All chunks of a tile in order, then y.
void attend_tile(const PagedAttention& args, const Shape4& s, const Tile& tile, const Work& work,
                 const KernelTable& kernels) {
  load_queries(args, s, tile, work);
  AttentionChunk chunk = chunk_of(args, s, tile, work);
  const KeyRange keys = visible_keys(args, tile.first_position(), tile.last_position());
  const std::int64_t first = keys.begin / kChunk;
  const std::int64_t last = (keys.end - 1) / kChunk;
  for (std::int64_t index = first; index <= last; ++index) {
    if (index == first) {
      chunk.o = work.total;
      chunk.m = work.total_m;
      chunk.l = work.total_l;
    } else {
      chunk.o = work.o;
      chunk.m = work.m;
      chunk.l = work.l;
    }
    run_chunk(kernels, &chunk, keys, index);
    if (index != first) {
      kernels.attention_merge(chunk.num_rows, s.dim, s.padded_dim, work.total_m, work.total_l,
                              work.total, work.m, work.l, work.o);
    }
  }
  for (std::int64_t row = 0; row < chunk.num_rows; ++row) {
    finish_row(args, kernels, tile.sequence.first_token + tile.begin + row / s.group,
               tile.kv_head * s.group + row % s.group, work.total_m[row], work.total_l[row],
               work.total + row * s.padded_dim);
  }
}

/// Results of chunks: [T, Hq, chunks] of {o f32[D], m, l}.
struct Partials {
  float* memory = nullptr;
  std::int64_t num_chunks = 0;  ///< of the longest context

  float* at(const Shape4& s, std::int64_t token, std::int64_t head, std::int64_t chunk) const {
    return memory + ((token * s.num_q_heads + head) * num_chunks + chunk) * (s.dim + 2);
  }
};

void attend_chunk(const PagedAttention& args, const Shape4& s, const Tile& tile, std::int64_t index,
                  const Partials& partials, const Work& work, const KernelTable& kernels) {
  const KeyRange keys = visible_keys(args, tile.first_position(), tile.last_position());
  if (index < keys.begin / kChunk || index > (keys.end - 1) / kChunk) {
    return;
  }
  load_queries(args, s, tile, work);
  AttentionChunk chunk = chunk_of(args, s, tile, work);
  run_chunk(kernels, &chunk, keys, index);
  for (std::int64_t row = 0; row < chunk.num_rows; ++row) {
    float* out = partials.at(s, tile.sequence.first_token + tile.begin + row / s.group,
                             tile.kv_head * s.group + row % s.group, index);
    std::copy_n(work.o + row * s.padded_dim, s.dim, out);
    out[s.dim] = work.m[row];
    out[s.dim + 1] = work.l[row];
  }
}

/// Joins the chunks of all heads of one token; the first chunk's place takes the sum.
void join_token(const PagedAttention& args, const Shape4& s, const Sequence& sequence,
                std::int64_t t, const Partials& partials, const KernelTable& kernels) {
  const std::int64_t token = sequence.first_token + t;
  const std::int64_t position = sequence.first_position + t;
  const KeyRange keys = visible_keys(args, position, position);
  const std::int64_t first = keys.begin / kChunk;
  for (std::int64_t head = 0; head < s.num_q_heads; ++head) {
    float* total = partials.at(s, token, head, first);
    for (std::int64_t index = first + 1; index <= (keys.end - 1) / kChunk; ++index) {
      const float* part = partials.at(s, token, head, index);
      kernels.attention_merge(1, s.dim, s.dim, total + s.dim, total + s.dim + 1, total,
                              part + s.dim, part + s.dim + 1, part);
    }
    finish_row(args, kernels, token, head, total[s.dim], total[s.dim + 1], total);
  }
}

struct Items {
  std::int64_t num_tiles = 0;  ///< of all sequences
  std::int64_t num_chunks = 0;
};

/// Fills the first tile of each sequence (and the end) into the stream's list.
Items count_items(const PagedAttention& args, const Shape4& s, CpuStream& stream) {
  const std::int64_t num_sequences = args.context_lens.dim(0);
  std::vector<std::int64_t>& begins = stream.item_begins();
  begins.resize(static_cast<std::size_t>(num_sequences + 1));
  Items items;
  for (std::int64_t b = 0; b < num_sequences; ++b) {
    const Sequence sequence = sequence_at(args, b);
    begins[static_cast<std::size_t>(b)] = items.num_tiles;
    if (sequence.num_tokens > 0) {
      items.num_tiles += (sequence.num_tokens + s.tile_tokens - 1) / s.tile_tokens;
      const std::int64_t context = sequence.first_position + sequence.num_tokens;
      items.num_chunks = std::max(items.num_chunks, (context + kChunk - 1) / kChunk);
    }
  }
  begins[static_cast<std::size_t>(num_sequences)] = items.num_tiles;
  return items;
}

Tile tile_at(const PagedAttention& args, const Shape4& s, const std::vector<std::int64_t>& begins,
             std::int64_t item) {
  const std::int64_t tile = item / s.num_kv_heads;
  const auto after = std::upper_bound(begins.begin(), begins.end(), tile);
  const std::int64_t b = after - begins.begin() - 1;
  Tile t{};
  t.sequence = sequence_at(args, b);
  t.begin = (tile - begins[static_cast<std::size_t>(b)]) * s.tile_tokens;
  t.end = std::min(t.begin + s.tile_tokens, t.sequence.num_tokens);
  t.kv_head = item % s.num_kv_heads;
  return t;
}

}  // namespace

void paged_attention(const PagedAttention& args, Stream& any_stream) {
  if (args.q.dim(0) == 0) {
    return;
  }
  CpuStream& stream = cpu_stream(any_stream);
  const KernelTable& kernels = stream.kernels();
  const Shape4 s = attention_shape(args);
  const Items items = count_items(args, s, stream);
  const std::vector<std::int64_t>& begins = stream.item_begins();
  const std::int64_t num_items = items.num_tiles * s.num_kv_heads;
  const int num_threads = stream.pool().num_threads();
  for (int worker = 0; worker < num_threads; ++worker) {
    work_of(stream, worker, s);  // a worker that is late once allocates nothing in a later call
  }
  const bool split = items.num_chunks > 1 && num_threads > 1 && num_items < 8 * num_threads;
  if (!split) {
    stream.pool().run(num_items, 1, [&](std::int64_t begin, std::int64_t end, int worker) {
      for (std::int64_t i = begin; i < end; ++i) {
        attend_tile(args, s, tile_at(args, s, begins, i), work_of(stream, worker, s), kernels);
      }
    });
    return;
  }
  const std::int64_t num_partials = args.q.dim(0) * s.num_q_heads * items.num_chunks;
  const Partials partials{stream.shared_work(num_partials * (s.dim + 2)), items.num_chunks};
  stream.pool().run(
      num_items * items.num_chunks, 1, [&](std::int64_t begin, std::int64_t end, int worker) {
        for (std::int64_t i = begin; i < end; ++i) {
          attend_chunk(args, s, tile_at(args, s, begins, i / items.num_chunks),
                       i % items.num_chunks, partials, work_of(stream, worker, s), kernels);
        }
      });
  for (std::int64_t b = 0; b < args.context_lens.dim(0); ++b) {
    const Sequence sequence = sequence_at(args, b);
    for (std::int64_t t = 0; t < sequence.num_tokens; ++t) {
      join_token(args, s, sequence, t, partials, kernels);
    }
  }
}

}  // namespace plumb::cpu
