// SPDX-License-Identifier: Apache-2.0
#include "model/encoder_config.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

Status read_number(const Json& json, const char* key, std::int64_t* value) {
  const Json* field = json.find(key);
  if (field == nullptr || !field->to_int64(value)) {
    return {Code::kInvalidArgument,
            "config.json: '" + std::string(key) + "' is missing or not an integer"};
  }
  return {};
}

std::string text_of(const Json& json, const char* key, const char* fallback) {
  const Json* field = json.find(key);
  return field != nullptr && field->is_string() ? field->as_string() : fallback;
}

bool is_set(const Json& json, const char* key) {
  const Json* field = json.find(key);
  return field != nullptr && field->is_bool() && field->as_bool();
}

// A file that a checkpoint may have; null where it has none.
Result<Json> optional_file(const Checkpoint& checkpoint, const char* name) {
  Result<Json> json = checkpoint.read_json(name);
  return !json.ok() && json.status().code() == Code::kNotFound ? Result<Json>(Json())
                                                               : std::move(json);
}

Result<GeluForm> activation_of(const std::string& name) {
  if (name == "gelu") {
    return GeluForm::kErf;
  }
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") {
    return GeluForm::kTanh;
  }
  return Status{Code::kUnsupported,
                "config.json: activation '" + name + "', expected gelu or gelu_new"};
}

// What sentence-transformers keeps beside the model.
Status read_sentence_files(const Checkpoint& checkpoint, EncoderConfig* config) {
  PLUMB_ASSIGN(const Json pooling, optional_file(checkpoint, "1_Pooling/config.json"));
  if (pooling.is_object()) {
    const bool is_mean = is_set(pooling, "pooling_mode_mean_tokens");
    const bool is_first = is_set(pooling, "pooling_mode_cls_token");
    const bool is_last = is_set(pooling, "pooling_mode_lasttoken");
    if (static_cast<int>(is_mean) + static_cast<int>(is_first) + static_cast<int>(is_last) != 1) {
      return {Code::kUnsupported,
              "1_Pooling/config.json: expected exactly one of mean, cls and last token"};
    }
    config->pooling = is_mean ? Pooling::kMean : is_first ? Pooling::kFirst : Pooling::kLast;
  }
  PLUMB_ASSIGN(const Json sentence, optional_file(checkpoint, "sentence_bert_config.json"));
  std::int64_t longest = 0;
  if (const Json* field = sentence.find("max_seq_length");
      field != nullptr && field->to_int64(&longest) && longest > 0) {
    config->max_context_len = std::min(config->max_context_len, longest);
  }
  return {};
}

Result<EncoderConfig> encoder_config_from_hf(const Checkpoint& checkpoint) {
  const Json& json = checkpoint.config();
  EncoderConfig config;
  config.family = text_of(json, "model_type", "");
  config.name = text_of(json, "_name_or_path", "bert");
  PLUMB_RETURN_IF_ERROR(read_number(json, "hidden_size", &config.hidden_size));
  PLUMB_RETURN_IF_ERROR(read_number(json, "num_hidden_layers", &config.num_layers));
  PLUMB_RETURN_IF_ERROR(read_number(json, "num_attention_heads", &config.num_heads));
  PLUMB_RETURN_IF_ERROR(read_number(json, "intermediate_size", &config.intermediate_size));
  PLUMB_RETURN_IF_ERROR(read_number(json, "vocab_size", &config.vocab_size));
  PLUMB_RETURN_IF_ERROR(read_number(json, "max_position_embeddings", &config.num_positions));
  PLUMB_RETURN_IF_ERROR(read_number(json, "type_vocab_size", &config.num_token_types));
  if (const Json* eps = json.find("layer_norm_eps"); eps != nullptr && eps->is_number()) {
    config.layer_norm_eps = eps->as_double();
  }
  const std::string positions = text_of(json, "position_embedding_type", "absolute");
  if (positions != "absolute") {
    return Status{Code::kUnsupported,
                  "config.json: position_embedding_type '" + positions + "', expected absolute"};
  }
  PLUMB_ASSIGN(config.activation, activation_of(text_of(json, "hidden_act", "gelu")));
  config.max_context_len = config.num_positions;
  PLUMB_RETURN_IF_ERROR(read_sentence_files(checkpoint, &config));
  return config;
}

Result<Pooling> gguf_pooling(std::int64_t type) {
  switch (type) {
    case 1:
      return Pooling::kMean;
    case 2:
      return Pooling::kFirst;
    case 3:
      return Pooling::kLast;
    default:
      return Status{Code::kUnsupported, "bert.pooling_type is " + std::to_string(type) +
                                            ", expected 1 (mean), 2 (cls) or 3 (last)"};
  }
}

Result<EncoderConfig> encoder_config_from_gguf(const Metadata& metadata) {
  EncoderConfig config;
  config.family = "bert";
  config.name = metadata.get_or<std::string>("general.name", "bert");
  PLUMB_ASSIGN(config.hidden_size, metadata.get<std::int64_t>("bert.embedding_length"));
  PLUMB_ASSIGN(config.num_layers, metadata.get<std::int64_t>("bert.block_count"));
  PLUMB_ASSIGN(config.num_heads, metadata.get<std::int64_t>("bert.attention.head_count"));
  PLUMB_ASSIGN(config.intermediate_size, metadata.get<std::int64_t>("bert.feed_forward_length"));
  PLUMB_ASSIGN(config.num_positions, metadata.get<std::int64_t>("bert.context_length"));
  config.max_context_len = config.num_positions;
  config.layer_norm_eps = metadata.number_or("bert.attention.layer_norm_epsilon", 1e-12);
  PLUMB_ASSIGN(config.pooling, gguf_pooling(metadata.get_or<std::int64_t>("bert.pooling_type", 1)));
  config.num_token_types = metadata.get_or<std::int64_t>("tokenizer.ggml.token_type_count", 2);
  PLUMB_ASSIGN(const std::vector<std::string> tokens,
               metadata.get<std::vector<std::string>>("tokenizer.ggml.tokens"));
  config.vocab_size = std::ssize(tokens);
  return config;
}

Status check_size(const char* what, std::int64_t value, std::int64_t limit) {
  return value >= 1 && value <= limit
             ? Status()
             : Status{Code::kInvalidArgument, "model: " + std::string(what) + " is " +
                                                  std::to_string(value) + ", expected 1 to " +
                                                  std::to_string(limit)};
}

Status check_encoder(const EncoderConfig& c) {
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
  PLUMB_RETURN_IF_ERROR(check_size("hidden size", c.hidden_size, kMaxSize));
  PLUMB_RETURN_IF_ERROR(check_size("number of layers", c.num_layers, 4096));
  PLUMB_RETURN_IF_ERROR(check_size("number of heads", c.num_heads, c.hidden_size));
  PLUMB_RETURN_IF_ERROR(check_size("feed-forward size", c.intermediate_size, kMaxSize));
  PLUMB_RETURN_IF_ERROR(check_size("vocabulary size", c.vocab_size, kMaxSize));
  PLUMB_RETURN_IF_ERROR(check_size("number of positions", c.num_positions, kMaxSize));
  PLUMB_RETURN_IF_ERROR(check_size("number of token types", c.num_token_types, kMaxSize));
  if (c.hidden_size % c.num_heads != 0) {
    return {Code::kInvalidArgument, "model: hidden size " + std::to_string(c.hidden_size) +
                                        " is not a multiple of " + std::to_string(c.num_heads) +
                                        " heads"};
  }
  if (!(c.layer_norm_eps >= 0) || !std::isfinite(c.layer_norm_eps)) {
    return {Code::kInvalidArgument, "model: norm epsilon must be finite and not negative"};
  }
  return {};
}

}  // namespace

Result<EncoderConfig> read_encoder_config(const Checkpoint& checkpoint) {
  PLUMB_ASSIGN(EncoderConfig config, checkpoint.kind() == Checkpoint::Kind::kGguf
                                         ? encoder_config_from_gguf(checkpoint.metadata())
                                         : encoder_config_from_hf(checkpoint));
  PLUMB_RETURN_IF_ERROR(check_encoder(config));
  return config;
}

}  // namespace plumb
