// SPDX-License-Identifier: Apache-2.0
#include "model/model_config.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

constexpr std::int64_t kMaxDimension = std::int64_t{1} << 24;
constexpr std::int64_t kMaxLayers = 4096;

Status check_range(const char* what, std::int64_t value, std::int64_t limit) {
  if (value < 1 || value > limit) {
    return {Code::kInvalidArgument, "model: " + std::string(what) + " is " + std::to_string(value) +
                                        ", expected 1 to " + std::to_string(limit)};
  }
  return {};
}

bool is_positive(double value) {
  return value > 0 && std::isfinite(value);
}

// What the formulas of each scaling divide by or take the logarithm of.
Status check_scaling(const RopeConfig& rope) {
  if (rope.scaling == RopeScaling::kNone || rope.scaling == RopeScaling::kLinear) {
    return {};
  }
  if (rope.original_context_len < 2) {
    return {Code::kInvalidArgument, "model: original context length of the rope scaling is " +
                                        std::to_string(rope.original_context_len) +
                                        ", expected at least 2"};
  }
  if (rope.scaling == RopeScaling::kLlama3 &&
      !(is_positive(rope.low_freq_factor) && is_positive(rope.high_freq_factor) &&
        rope.low_freq_factor < rope.high_freq_factor)) {
    return {Code::kInvalidArgument,
            "model: rope frequency factors must be positive, the low one below the high one"};
  }
  if (rope.scaling == RopeScaling::kYarn &&
      !(is_positive(rope.beta_fast) && is_positive(rope.beta_slow) && rope.theta > 1)) {
    return {Code::kInvalidArgument,
            "model: yarn needs positive rope betas and a rope base above 1"};
  }
  for (const std::vector<double>* factors : {&rope.long_factors, &rope.short_factors}) {
    if (!std::all_of(factors->begin(), factors->end(), is_positive)) {
      return {Code::kInvalidArgument, "model: long and short rope factors must be positive"};
    }
  }
  return {};
}

Status check_rope(const RopeConfig& rope, std::int64_t head_dim) {
  if (rope.rotary_dim < 2 || rope.rotary_dim % 2 != 0 || rope.rotary_dim > head_dim) {
    return {Code::kInvalidArgument, "model: rotary dimension " + std::to_string(rope.rotary_dim) +
                                        ", expected an even number up to the head dimension " +
                                        std::to_string(head_dim)};
  }
  if (!is_positive(rope.theta) || !is_positive(rope.factor)) {
    return {Code::kInvalidArgument, "model: rope base and rope factor must be positive and finite"};
  }
  if (!(rope.attention_factor >= 0) || !std::isfinite(rope.attention_factor)) {
    return {Code::kInvalidArgument, "model: rope attention factor must be finite and not negative"};
  }
  return check_scaling(rope);
}

Status check_windows(const ModelConfig& c) {
  if (std::none_of(c.is_window_layer.begin(), c.is_window_layer.end(), [](bool b) { return b; })) {
    return {};
  }
  PLUMB_RETURN_IF_ERROR(check_range("sliding window", c.sliding_window, std::int64_t{1} << 30));
  return c.family == "gemma3" ? check_rope(c.local_rope, c.head_dim) : Status();
}

}  // namespace

Status validate(const ModelConfig& c) {
  PLUMB_RETURN_IF_ERROR(check_range("hidden size", c.hidden_size, kMaxDimension));
  PLUMB_RETURN_IF_ERROR(check_range("number of layers", c.num_layers, kMaxLayers));
  PLUMB_RETURN_IF_ERROR(check_range("number of query heads", c.num_q_heads, 65536));
  PLUMB_RETURN_IF_ERROR(check_range("number of kv heads", c.num_kv_heads, c.num_q_heads));
  PLUMB_RETURN_IF_ERROR(check_range("head dimension", c.head_dim, 1024));
  PLUMB_RETURN_IF_ERROR(check_range("feed-forward size", c.intermediate_size, kMaxDimension));
  PLUMB_RETURN_IF_ERROR(check_range("vocabulary size", c.vocab_size, kMaxDimension));
  PLUMB_RETURN_IF_ERROR(check_range("context length", c.max_context_len, std::int64_t{1} << 30));
  if (c.num_q_heads % c.num_kv_heads != 0) {
    return {Code::kInvalidArgument, "model: " + std::to_string(c.num_q_heads) +
                                        " query heads are not a multiple of " +
                                        std::to_string(c.num_kv_heads) + " kv heads"};
  }
  PLUMB_RETURN_IF_ERROR(check_rope(c.rope, c.head_dim));
  if (!c.is_window_layer.empty()) {
    PLUMB_RETURN_IF_ERROR(check_windows(c));
  }
  if (!is_positive(c.attention_scale) || !is_positive(c.embedding_scale)) {
    return {Code::kInvalidArgument,
            "model: attention scale and embedding scale must be positive and finite"};
  }
  if (!(c.rms_norm_eps >= 0) || !std::isfinite(c.rms_norm_eps)) {
    return {Code::kInvalidArgument, "model: norm epsilon must be finite and not negative"};
  }
  return {};
}

}  // namespace plumb
