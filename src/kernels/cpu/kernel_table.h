// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/cpu/panel_format.h"

// Plain data and function pointers between the drivers (baseline instructions) and the kernels that
// are compiled for wider ones. No standard library beyond the integer types: whatever a kernel file
// instantiates would be shared with the rest of the program by the linker.
namespace plumb::cpu {

/// Activations of M rows quantised to 8 bits per 32 elements, in tiles of at most `tile_rows` rows
/// (the rest in tiles of falling powers of two).
///
/// A tile of T rows takes T * K/32 * kXBlockBytes bytes: K/32 records {q i8[T][32], d f32[T],
/// n i32[T] = -sum q, s f32[T] = d * sum q}, then K/32 records of halves of 16 elements
/// {n i32[2][T], s f32[2][T]} that only formats with scales per 16 elements read.
inline constexpr std::int64_t kXBlockBytes = 60;
inline constexpr std::int64_t kXMainBytes = 44;

/// For Q13, 13 bits per 128 elements: K/128 records {q i16[T][128], d f32[T]} in tiles as above.
inline constexpr std::int64_t kXQ13Bytes = 2 * kQ13Elems + 4;

/// Panels [panel_begin, panel_end) times rows [row_begin, row_end) of x.
struct PanelProduct {
  const unsigned char* panels = nullptr;
  std::int64_t panel_bytes = 0;
  std::int64_t panel_begin = 0;
  std::int64_t panel_end = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const unsigned char* x_tiles = nullptr;  ///< block formats, each its own kind
  const float* x = nullptr;                ///< float formats
  std::int64_t x_stride = 0;
  std::int64_t row_begin = 0;  ///< multiple of tile_rows
  std::int64_t row_end = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  const float* bias = nullptr;
};

/// Query rows against the keys [key_begin, key_end) of one sequence and one KV head; key_begin is a
/// multiple of 32. Row r sees keys in (row_last[r] - window, row_last[r]]. Keys before first_seen
/// are not read.
struct AttentionChunk {
  const void* k_cache = nullptr;  ///< of the head: key j at block * block_stride + j % size * dim
  const void* v_cache = nullptr;
  const std::int32_t* block_table = nullptr;
  std::int64_t block_size = 0;
  std::int64_t block_stride = 0;  ///< elements
  bool is_f16 = true;
  std::int64_t dim = 0;
  std::int64_t padded_dim = 0;  ///< multiple of 16
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
  std::int64_t first_seen = 0;
  std::int64_t prefetch_end = 0;  ///< keys before it will be wanted soon
  std::int64_t num_rows = 0;
  const float* q = nullptr;                ///< [num_rows, padded_dim], times scale (and log2 e)
  const std::int32_t* row_last = nullptr;  ///< [num_rows]
  std::int64_t window = 0;                 ///< 0 = all
  float softcap = 0.0F;
  float* keys = nullptr;    ///< [padded_dim, 32] work
  float* values = nullptr;  ///< [32, padded_dim] work
  float* o = nullptr;       ///< [num_rows, padded_dim] out: sums of this chunk
  float* m = nullptr;       ///< [num_rows] out: largest score, base 2
  float* l = nullptr;       ///< [num_rows] out: sum of weights
};

struct RotateHeads {
  float* x = nullptr;  ///< [num_heads, dim] of one token
  std::int64_t num_heads = 0;
  std::int64_t dim = 0;
  std::int64_t num_pairs = 0;
  const float* inv_freq = nullptr;
  float position = 0;
  bool interleaved = false;  ///< pairs (2i, 2i+1), else (i, i + num_pairs)
  float magnitude = 1.0F;
};

/// What a probe did. The sum keeps the work from being left out.
struct ProbeResult {
  std::int64_t count = 0;  ///< multiply-adds, or bytes
  float sum = 0.0F;
};

/// The kernels of one instruction level.
struct KernelTable {
  int panel_rows = 0;                                         ///< R
  int tile_rows = 0;                                          ///< rows of x in a full tile
  void (*product[kNumPanelTypes])(const PanelProduct&) = {};  ///< by PanelType
  /// Writes one tile of `rows` (a power of two) rows.
  void (*quantize_tile)(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t k,
                        bool halves, unsigned char* out) = nullptr;
  /// As quantize_tile, for Q13.
  void (*round_tile)(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t k,
                     unsigned char* out) = nullptr;
  int q13_panels = 0;  ///< that the product with Q13 takes at once
  void (*attention_chunk)(const AttentionChunk&) = nullptr;
  /// Joins (m2, l2, o2) to (m, l, o) row by row; rows of o lie `stride` floats apart.
  void (*attention_merge)(std::int64_t num_rows, std::int64_t dim, std::int64_t stride, float* m,
                          float* l, float* o, const float* m2, const float* l2,
                          const float* o2) = nullptr;
  /// y = o / (l + 2^(sink - m)) after the rescaling that the sink asks for; no sink: -infinity.
  void (*attention_finish)(std::int64_t dim, float m, float l, const float* o, float sink,
                           float* y) = nullptr;
  void (*rms_norm)(const float* x, const float* weight, float eps, std::int64_t n,
                   float* y) = nullptr;
  /// residual += x; y = rms_norm(residual)
  void (*add_rms_norm)(const float* x, float* residual, const float* weight, float eps,
                       std::int64_t n, float* y) = nullptr;
  void (*silu_mul)(const float* gate, const float* up, std::int64_t n, float* y) = nullptr;
  void (*gelu_mul)(const float* gate, const float* up, std::int64_t n, float* y) = nullptr;
  void (*gelu_erf)(const float* x, std::int64_t n, float* y) = nullptr;
  void (*gelu_tanh)(const float* x, std::int64_t n, float* y) = nullptr;
  /// s = x + residual (null: x); y = (s - mean) / sqrt(variance + eps) * weight + bias
  void (*layer_norm)(const float* x, const float* residual, const float* weight, const float* bias,
                     float eps, std::int64_t n, float* y) = nullptr;
  void (*add)(const float* x, std::int64_t n, float* y) = nullptr;  ///< y += x
  void (*rotate)(const RotateHeads&) = nullptr;
  void (*scale)(float factor, std::int64_t n, float* x) = nullptr;
  void (*to_half)(const float* x, std::int64_t n, std::uint16_t* y) = nullptr;  ///< saturating
  std::int32_t (*argmax)(const float* x, std::int64_t n, float* best) = nullptr;
  float (*log_sum_exp)(const float* x, std::int64_t n) = nullptr;
  // Probes of what a core does at most.
  ProbeResult (*probe_fma)(std::int64_t rounds) = nullptr;    ///< float32
  ProbeResult (*probe_dot8)(std::int64_t rounds) = nullptr;   ///< 8-bit products
  ProbeResult (*probe_dot16)(std::int64_t rounds) = nullptr;  ///< 16-bit products
  ProbeResult (*probe_read)(const unsigned char* p, std::int64_t num_bytes) = nullptr;
};

}  // namespace plumb::cpu

namespace plumb::cpu_avx2 {
cpu::KernelTable kernel_table();
}

namespace plumb::cpu_avx512 {
cpu::KernelTable kernel_table();
}
