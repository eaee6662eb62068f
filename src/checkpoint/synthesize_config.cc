// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/synthesize_config.h"

#include <algorithm>
#include <cctype>

#include "checkpoint/synthesize_weights.h"

namespace plumb {
namespace {

constexpr std::int64_t kGemmaWindowPattern = 6;  // five window layers, then one that sees all

std::uint32_t u32(std::int64_t v) {
  return static_cast<std::uint32_t>(v);
}

void add_tokenizer(const SynthesisTokenizer& tokenizer, GgufPairs* pairs) {
  std::vector<std::int32_t> types(tokenizer.tokens.size(), 1);
  std::fill_n(types.begin(), tokenizer.num_control, 3);
  pairs->emplace_back("tokenizer.ggml.model", std::string("gpt2"));
  pairs->emplace_back("tokenizer.ggml.pre", std::string("gpt-2"));
  pairs->emplace_back("tokenizer.ggml.tokens", tokenizer.tokens);
  pairs->emplace_back("tokenizer.ggml.token_type", std::move(types));
  pairs->emplace_back("tokenizer.ggml.merges", tokenizer.merges);
  pairs->emplace_back("tokenizer.ggml.bos_token_id", u32(kSynthesisEndOfText));
  pairs->emplace_back("tokenizer.ggml.eos_token_id", u32(kSynthesisTurnEnd));
  pairs->emplace_back("tokenizer.ggml.eot_token_id", u32(kSynthesisTurnEnd));
  pairs->emplace_back("tokenizer.ggml.padding_token_id", u32(kSynthesisPad));
  pairs->emplace_back("tokenizer.ggml.add_bos_token", false);
  pairs->emplace_back("tokenizer.ggml.add_space_prefix", false);
  pairs->emplace_back("tokenizer.chat_template", synthesis_chat_template());
}

std::string model_class(const std::string& architecture) {
  if (architecture == "gemma3") {
    return "Gemma3ForCausalLM";
  }
  std::string name = architecture + "ForCausalLM";
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

void add_gemma3(const SynthesisSpec& spec, JsonObject* config) {
  config->set("model_type", "gemma3_text");
  config->append("hidden_activation", "gelu_pytorch_tanh");
  config->append("query_pre_attn_scalar", spec.head_dim);
  config->append("rope_local_base_freq", 10000.0);
  config->append("sliding_window", spec.sliding_window);
  config->append("sliding_window_pattern", kGemmaWindowPattern);
  config->append("final_logit_softcapping", nullptr);
  config->append("attn_logit_softcapping", nullptr);
  JsonArray kinds;
  for (std::int64_t i = 0; i < spec.num_layers; ++i) {
    kinds.push_back(i % kGemmaWindowPattern == kGemmaWindowPattern - 1 ? "full_attention"
                                                                       : "sliding_attention");
  }
  config->append("layer_types", std::move(kinds));
}

std::string torch_dtype(const std::string& quant) {
  return quant == "F32" ? "float32" : quant == "F16" ? "float16" : "bfloat16";
}

}  // namespace

GgufPairs synthesis_metadata(const SynthesisSpec& spec, const SynthesisTokenizer& tokenizer) {
  const std::string arch = spec.architecture + ".";
  GgufPairs pairs{
      {"general.architecture", spec.architecture},
      {"general.type", std::string("model")},
      {"general.name", spec.name},
      {arch + "vocab_size", u32(spec.vocab_size)},
      {arch + "context_length", u32(spec.context_len)},
      {arch + "embedding_length", u32(spec.hidden_size)},
      {arch + "block_count", u32(spec.num_layers)},
      {arch + "feed_forward_length", u32(spec.intermediate_size)},
      {arch + "attention.head_count", u32(spec.num_q_heads)},
      {arch + "attention.head_count_kv", u32(spec.num_kv_heads)},
      {arch + "attention.key_length", u32(spec.head_dim)},
      {arch + "attention.value_length", u32(spec.head_dim)},
      {arch + "attention.layer_norm_rms_epsilon", static_cast<float>(spec.rms_norm_eps)},
      {arch + "rope.dimension_count", u32(spec.head_dim)},
      {arch + "rope.freq_base", static_cast<float>(spec.rope_theta)},
  };
  if (spec.architecture == "gemma3") {
    pairs.emplace_back(arch + "attention.sliding_window", u32(spec.sliding_window));
  }
  if (spec.echoes) {
    pairs.emplace_back(std::string(kEchoMetadata), true);
  }
  add_tokenizer(tokenizer, &pairs);
  pairs.emplace_back("general.quantization_version", std::uint32_t{2});
  pairs.emplace_back("general.file_type", synthesis_file_type(spec.quant));
  return pairs;
}

Json synthesis_config_json(const SynthesisSpec& spec) {
  JsonObject config{{"architectures", JsonArray{model_class(spec.architecture)}},
                    {"model_type", Json(spec.architecture)},
                    {"_name_or_path", Json(spec.name)},
                    {"vocab_size", Json(spec.vocab_size)},
                    {"hidden_size", Json(spec.hidden_size)},
                    {"intermediate_size", Json(spec.intermediate_size)},
                    {"num_hidden_layers", Json(spec.num_layers)},
                    {"num_attention_heads", Json(spec.num_q_heads)},
                    {"num_key_value_heads", Json(spec.num_kv_heads)},
                    {"head_dim", Json(spec.head_dim)},
                    {"hidden_act", "silu"},
                    {"max_position_embeddings", Json(spec.context_len)},
                    {"rms_norm_eps", Json(spec.rms_norm_eps)},
                    {"rope_theta", Json(spec.rope_theta)},
                    {"rope_scaling", nullptr},
                    {"attention_bias", spec.architecture == "qwen2"},
                    {"attention_dropout", 0.0},
                    {"initializer_range", 0.02},
                    {"tie_word_embeddings", spec.tie_embeddings},
                    {"use_cache", true},
                    {"bos_token_id", Json(kSynthesisEndOfText)},
                    {"eos_token_id", Json(kSynthesisTurnEnd)},
                    {"pad_token_id", Json(kSynthesisPad)},
                    {"torch_dtype", Json(torch_dtype(spec.quant))}};
  if (spec.architecture == "gemma3") {
    add_gemma3(spec, &config);
  }
  return config;
}

Json synthesis_generation_config_json() {
  return JsonObject{{"bos_token_id", Json(kSynthesisEndOfText)},
                    {"eos_token_id", JsonArray{kSynthesisTurnEnd, kSynthesisEndOfText}},
                    {"pad_token_id", Json(kSynthesisPad)}};
}

}  // namespace plumb
