// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/metadata.h"
#include "base/status.h"
#include "ops/glu.h"
#include "ops/rope.h"

namespace plumb {

enum class RopeScaling : unsigned char { kNone, kLinear, kLlama3, kYarn, kLongRope };

/// Rotary position embedding as the checkpoint describes it.
struct RopeConfig {
  double theta = 10000.0;
  std::int64_t rotary_dim = 0;  ///< rotated elements of a head, even
  RopeStyle style = RopeStyle::kHalfSplit;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  std::int64_t original_context_len = 0;
  double low_freq_factor = 1.0;       ///< llama3
  double high_freq_factor = 4.0;      ///< llama3
  double beta_fast = 32.0;            ///< yarn
  double beta_slow = 1.0;             ///< yarn
  double attention_factor = 0.0;      ///< yarn, longrope; 0 = from factor
  std::vector<double> long_factors;   ///< longrope, rotary_dim / 2
  std::vector<double> short_factors;  ///< longrope
};

/// The numbers of a decoder-only transformer, read from a checkpoint's header. Field names follow
/// the published configuration keys.
struct ModelConfig {
  std::string family;  ///< "llama", "qwen2", "qwen3", "gemma3"
  std::string name;
  std::int64_t hidden_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_q_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_context_len = 0;
  double rms_norm_eps = 1e-5;
  double norm_weight_offset =
      0.0;  ///< added to every norm weight at load (Gemma as published by Hugging Face: 1)
  double attention_scale = 0.0;  ///< multiplies q.k
  double embedding_scale = 1.0;
  Activation activation = Activation::kSilu;
  bool needs_output_matrix = false;  ///< the header says that output is not tied to embedding
  RopeConfig rope;
  RopeConfig local_rope;              ///< of window layers (Gemma 3)
  std::int64_t sliding_window = 0;    ///< keys seen by window layers; 0 = none
  std::vector<bool> is_window_layer;  ///< per layer; empty = none
};

/// From the metadata of a GGUF file. Errors: kUnsupported for another architecture (the known ones
/// are listed), kInvalidArgument for a missing or senseless key.
Result<ModelConfig> config_from_gguf(const Metadata& metadata);

/// From a Hugging Face config.json.
Result<ModelConfig> config_from_hf(const Json& config);

/// Checks that the numbers fit each other and are within limits (no dimension above 2^24, heads
/// divide, …).
Status validate(const ModelConfig& config);

}  // namespace plumb
