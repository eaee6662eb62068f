// SPDX-License-Identifier: Apache-2.0
#include "model/model_config.h"

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
  if (c.rope.rotary_dim < 2 || c.rope.rotary_dim % 2 != 0 || c.rope.rotary_dim > c.head_dim) {
    return {Code::kInvalidArgument, "model: rotary dimension " + std::to_string(c.rope.rotary_dim) +
                                        ", expected an even number up to the head dimension " +
                                        std::to_string(c.head_dim)};
  }
  if (!(c.rope.theta > 0) || !(c.rope.factor > 0) || !(c.rms_norm_eps >= 0)) {
    return {Code::kInvalidArgument,
            "model: rope base, rope factor and norm epsilon must be positive"};
  }
  return {};
}

}  // namespace plumb
