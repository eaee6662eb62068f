// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "model/families.h"
#include "model/model_config.h"
#include "tensor/half.h"

namespace plumb {
namespace {

// Reads keys under the architecture's prefix: "llama.block_count".
class ArchKeys {
 public:
  ArchKeys(const Metadata& metadata, std::string arch)
      : metadata_(metadata), arch_(std::move(arch)) {}

  Result<std::int64_t> integer(const std::string& key) const {
    return metadata_.get<std::int64_t>(arch_ + "." + key);
  }

  std::int64_t integer_or(const std::string& key, std::int64_t fallback) const {
    return metadata_.get_or<std::int64_t>(arch_ + "." + key, fallback);
  }

  double number_or(const std::string& key, double fallback) const {
    return metadata_.number_or(arch_ + "." + key, fallback);
  }

  std::string text_or(const std::string& key, const std::string& fallback) const {
    return metadata_.get_or<std::string>(arch_ + "." + key, fallback);
  }

  /// A scalar, or an array whose elements are all equal (per-layer head counts).
  Result<std::int64_t> uniform(const std::string& key, std::int64_t fallback) const {
    const std::string full = arch_ + "." + key;
    const auto* values = metadata_.find<std::vector<std::int64_t>>(full);
    if (values == nullptr) {
      return metadata_.get_or<std::int64_t>(full, fallback);
    }
    for (const std::int64_t value : *values) {
      if (value != values->front()) {
        return Status{Code::kUnsupported, "metadata key '" + full + "' differs between layers"};
      }
    }
    return values->empty() ? fallback : values->front();
  }

 private:
  const Metadata& metadata_;
  std::string arch_;
};

Status read_gguf_rope(const ArchKeys& keys, ModelConfig* config) {
  RopeConfig& rope = config->rope;
  rope.theta = keys.number_or("rope.freq_base", 10000.0);
  rope.rotary_dim = keys.integer_or("rope.dimension_count", config->head_dim);
  rope.style = config->family == "llama" ? RopeStyle::kInterleaved : RopeStyle::kHalfSplit;
  rope.factor = keys.number_or("rope.scaling.factor", 1.0);
  rope.original_context_len =
      keys.integer_or("rope.scaling.original_context_length", config->max_context_len);
  rope.attention_factor = keys.number_or("rope.scaling.attn_factor", 0.0);
  const std::string type = keys.text_or("rope.scaling.type", "none");
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
  } else if (type == "none" || type.empty()) {
    rope.scaling = RopeScaling::kNone;
  } else {
    return {Code::kUnsupported, "rope.scaling.type '" + type + "', expected none, linear or yarn"};
  }
  return {};
}

void read_gemma3(const ArchKeys& keys, ModelConfig* config) {
  constexpr std::int64_t kPattern = 6;  // five window layers, then one that sees all
  config->activation = Activation::kGeluTanh;
  config->embedding_scale = bfloat16_to_float(
      float_to_bfloat16(static_cast<float>(std::sqrt(static_cast<double>(config->hidden_size)))));
  config->sliding_window = keys.integer_or("attention.sliding_window", 0);
  config->local_rope = config->rope;
  config->local_rope.theta = keys.number_or("rope.freq_base_swa", 10000.0);
  config->local_rope.scaling = RopeScaling::kNone;
  for (std::int64_t i = 0; i < config->num_layers; ++i) {
    config->is_window_layer.push_back(i % kPattern != kPattern - 1);
  }
}

}  // namespace

Result<ModelConfig> config_from_gguf(const Metadata& metadata) {
  PLUMB_ASSIGN(const std::string arch, metadata.get<std::string>("general.architecture"));
  PLUMB_RETURN_IF_ERROR(check_family(arch));
  const ArchKeys keys(metadata, arch);
  ModelConfig config;
  config.family = arch;
  config.name = metadata.get_or<std::string>("general.name", arch);
  PLUMB_ASSIGN(config.hidden_size, keys.integer("embedding_length"));
  PLUMB_ASSIGN(config.num_layers, keys.integer("block_count"));
  PLUMB_ASSIGN(config.num_q_heads, keys.integer("attention.head_count"));
  PLUMB_ASSIGN(config.num_kv_heads, keys.uniform("attention.head_count_kv", config.num_q_heads));
  PLUMB_ASSIGN(config.intermediate_size, keys.uniform("feed_forward_length", 0));
  PLUMB_ASSIGN(config.max_context_len, keys.integer("context_length"));
  const std::int64_t derived_head_dim =
      config.num_q_heads > 0 ? config.hidden_size / config.num_q_heads : 0;
  config.head_dim = keys.integer_or("attention.key_length", derived_head_dim);
  if (keys.integer_or("attention.value_length", config.head_dim) != config.head_dim) {
    return Status{Code::kUnsupported, "key and value heads of different length"};
  }
  config.rms_norm_eps = keys.number_or("attention.layer_norm_rms_epsilon", 1e-5);
  config.vocab_size = keys.integer_or("vocab_size", 0);
  if (const auto* tokens = metadata.find<std::vector<std::string>>("tokenizer.ggml.tokens");
      tokens != nullptr && config.vocab_size == 0) {
    config.vocab_size = static_cast<std::int64_t>(tokens->size());
  }
  config.attention_scale =
      config.head_dim > 0 ? 1.0 / std::sqrt(static_cast<double>(config.head_dim)) : 0.0;
  PLUMB_RETURN_IF_ERROR(read_gguf_rope(keys, &config));
  if (config.family == "gemma3") {
    read_gemma3(keys, &config);
  }
  PLUMB_RETURN_IF_ERROR(validate(config));
  return config;
}

}  // namespace plumb
