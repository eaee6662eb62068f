// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "model/families.h"
#include "model/model_config.h"
#include "tensor/half.h"

namespace plumb {
namespace {

// Reads fields of config.json; null counts as absent. The first error sticks.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  std::int64_t integer(const char* key) {
    std::int64_t value = 0;
    const Json* field = present(key);
    if (field == nullptr || !field->to_int64(&value)) {
      fail(key, "an integer");
    }
    return value;
  }

  std::int64_t integer_or(const char* key, std::int64_t fallback) {
    return present(key) == nullptr ? fallback : integer(key);
  }

  double number_or(const char* key, double fallback) {
    const Json* field = present(key);
    if (field == nullptr) {
      return fallback;
    }
    if (!field->is_number()) {
      fail(key, "a number");
      return fallback;
    }
    return field->as_double();
  }

  std::string text_or(const char* key, const std::string& fallback) {
    const Json* field = present(key);
    if (field == nullptr) {
      return fallback;
    }
    if (!field->is_string()) {
      fail(key, "a string");
      return fallback;
    }
    return field->as_string();
  }

  const Json* present(const char* key) const {
    const Json* field = object_.find(key);
    return field == nullptr || field->is_null() ? nullptr : field;
  }

  const Status& status() const { return status_; }

 private:
  void fail(const char* key, const char* expected) {
    if (status_.ok()) {
      status_ = {Code::kInvalidArgument,
                 "config.json: '" + std::string(key) + "' is missing or not " + expected};
    }
  }

  const Json& object_;
  Status status_;
};

Result<std::string> family_of(Fields& fields) {
  const std::string type = fields.text_or("model_type", "");
  if (type == "mistral") {
    return std::string("llama");
  }
  if (type == "gemma3_text") {
    return std::string("gemma3");
  }
  PLUMB_RETURN_IF_ERROR(check_family(type));
  return type;
}

Result<std::vector<double>> factors(const Json* list) {
  std::vector<double> out;
  if (list == nullptr || !list->is_array()) {
    return Status{Code::kInvalidArgument,
                  "config.json: rope scaling needs lists short_factor and long_factor"};
  }
  for (const Json& item : list->as_array()) {
    if (!item.is_number()) {
      return Status{Code::kInvalidArgument, "config.json: a rope factor is not a number"};
    }
    out.push_back(item.as_double());
  }
  return out;
}

Status read_scaling(const Json& json, RopeConfig* rope) {
  Fields fields(json);
  rope->theta = fields.number_or("rope_theta", rope->theta);
  const std::string type = fields.text_or("rope_type", fields.text_or("type", "default"));
  rope->factor = fields.number_or("factor", 1.0);
  rope->original_context_len =
      fields.integer_or("original_max_position_embeddings", rope->original_context_len);
  rope->low_freq_factor = fields.number_or("low_freq_factor", rope->low_freq_factor);
  rope->high_freq_factor = fields.number_or("high_freq_factor", rope->high_freq_factor);
  rope->beta_fast = fields.number_or("beta_fast", rope->beta_fast);
  rope->beta_slow = fields.number_or("beta_slow", rope->beta_slow);
  rope->attention_factor = fields.number_or("attention_factor", 0.0);
  if (type == "linear") {
    rope->scaling = RopeScaling::kLinear;
  } else if (type == "llama3") {
    rope->scaling = RopeScaling::kLlama3;
  } else if (type == "yarn") {
    rope->scaling = RopeScaling::kYarn;
  } else if (type == "longrope" || type == "su") {
    rope->scaling = RopeScaling::kLongRope;
    PLUMB_ASSIGN(rope->short_factors, factors(fields.present("short_factor")));
    PLUMB_ASSIGN(rope->long_factors, factors(fields.present("long_factor")));
  } else if (type != "default") {
    return {Code::kUnsupported, "config.json: rope scaling '" + type +
                                    "', expected default, linear, llama3, yarn or longrope"};
  }
  return fields.status();
}

Status read_rope(Fields& fields, ModelConfig* config) {
  RopeConfig& rope = config->rope;
  rope.theta = fields.number_or("rope_theta", 10000.0);
  const double partial = fields.number_or("partial_rotary_factor", 1.0);
  rope.rotary_dim =
      static_cast<std::int64_t>(static_cast<double>(config->head_dim) * partial) / 2 * 2;
  rope.original_context_len =
      fields.integer_or("original_max_position_embeddings", config->max_context_len);
  const Json* scaling = fields.present("rope_scaling");
  if (scaling == nullptr) {
    scaling = fields.present("rope_parameters");
  }
  config->local_rope = rope;
  if (scaling != nullptr &&
      scaling->find("full_attention") != nullptr) {  // one entry per layer kind
    PLUMB_RETURN_IF_ERROR(read_scaling(*scaling->find("full_attention"), &rope));
    const Json* local = scaling->find("sliding_attention");
    return local == nullptr ? Status() : read_scaling(*local, &config->local_rope);
  }
  if (scaling != nullptr) {
    PLUMB_RETURN_IF_ERROR(read_scaling(*scaling, &rope));
  }
  if (fields.present("rope_local_base_freq") != nullptr) {
    config->local_rope.theta = fields.number_or("rope_local_base_freq", 10000.0);
  }
  return {};
}

Status read_windows(Fields& fields, ModelConfig* config) {
  config->sliding_window = fields.integer_or("sliding_window", 0);
  if (const Json* types = fields.present("layer_types"); types != nullptr && types->is_array()) {
    for (const Json& type : types->as_array()) {
      config->is_window_layer.push_back(type.is_string() &&
                                        type.as_string() == "sliding_attention");
    }
    if (static_cast<std::int64_t>(config->is_window_layer.size()) != config->num_layers) {
      return {Code::kInvalidArgument,
              "config.json: layer_types has " + std::to_string(config->is_window_layer.size()) +
                  " entries, expected " + std::to_string(config->num_layers)};
    }
    return {};
  }
  if (config->family == "gemma3") {
    const std::int64_t pattern = fields.integer_or("sliding_window_pattern", 6);
    for (std::int64_t i = 0; i < config->num_layers; ++i) {
      config->is_window_layer.push_back(pattern > 0 && (i + 1) % pattern != 0);
    }
    return {};
  }
  const Json* use = fields.present("use_sliding_window");
  const bool all_layers =
      fields.text_or("model_type", "") == "mistral" && config->sliding_window > 0;
  if (use != nullptr && use->is_bool() && use->as_bool()) {
    return {Code::kUnsupported, "config.json: use_sliding_window without layer_types"};
  }
  config->is_window_layer.assign(static_cast<std::size_t>(config->num_layers), all_layers);
  return {};
}

}  // namespace

Result<ModelConfig> config_from_hf(const Json& config_json) {
  const Json* text = config_json.find("text_config");
  Fields fields(text != nullptr ? *text : config_json);
  ModelConfig config;
  PLUMB_ASSIGN(config.family, family_of(fields));
  config.name = fields.text_or("_name_or_path", config.family);
  config.hidden_size = fields.integer("hidden_size");
  config.num_layers = fields.integer("num_hidden_layers");
  config.num_q_heads = fields.integer("num_attention_heads");
  config.num_kv_heads = fields.integer_or("num_key_value_heads", config.num_q_heads);
  config.intermediate_size = fields.integer("intermediate_size");
  config.vocab_size = fields.integer("vocab_size");
  config.max_context_len = fields.integer("max_position_embeddings");
  config.head_dim = fields.integer_or(
      "head_dim", config.num_q_heads > 0 ? config.hidden_size / config.num_q_heads : 0);
  config.rms_norm_eps = fields.number_or("rms_norm_eps", 1e-6);
  config.attention_scale =
      config.head_dim > 0 ? 1.0 / std::sqrt(static_cast<double>(config.head_dim)) : 0.0;
  const Json* tied = fields.present("tie_word_embeddings");
  config.needs_output_matrix = tied != nullptr && tied->is_bool() && !tied->as_bool();
  PLUMB_RETURN_IF_ERROR(fields.status());
  PLUMB_RETURN_IF_ERROR(read_rope(fields, &config));
  PLUMB_RETURN_IF_ERROR(read_windows(fields, &config));
  const std::string activation =
      fields.text_or("hidden_activation", fields.text_or("hidden_act", "silu"));
  if (config.family == "gemma3") {
    config.activation = Activation::kGeluTanh;
    config.norm_weight_offset = 1.0;
    config.attention_scale =
        1.0 /
        std::sqrt(fields.number_or("query_pre_attn_scalar", static_cast<double>(config.head_dim)));
    config.embedding_scale = bfloat16_to_float(
        float_to_bfloat16(static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)))));
  } else if (activation != "silu") {
    return Status{Code::kUnsupported,
                  "config.json: activation '" + activation + "', expected silu"};
  }
  PLUMB_RETURN_IF_ERROR(fields.status());
  PLUMB_RETURN_IF_ERROR(validate(config));
  return config;
}

}  // namespace plumb
