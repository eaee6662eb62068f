// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_config.h"

namespace plumb {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kLlama = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
  "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "hidden_act": "silu",
  "rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
  "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}})";

constexpr const char* kQwen2 = R"({"model_type": "qwen2", "hidden_size": 896,
  "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
  "intermediate_size": 4864, "vocab_size": 151936, "max_position_embeddings": 32768,
  "rms_norm_eps": 1e-06, "hidden_act": "silu", "rope_theta": 1000000.0,
  "sliding_window": 32768, "max_window_layers": 21, "use_sliding_window": false})";

constexpr const char* kQwen3 = R"({"model_type": "qwen3", "hidden_size": 1024, "head_dim": 128,
  "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
  "intermediate_size": 3072, "vocab_size": 151936, "max_position_embeddings": 40960,
  "rms_norm_eps": 1e-06, "hidden_act": "silu", "rope_theta": 1000000, "rope_scaling": null,
  "sliding_window": null, "use_sliding_window": false})";

constexpr const char* kGemma3 = R"({"model_type": "gemma3_text", "hidden_size": 640,
  "head_dim": 256, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 1,
  "intermediate_size": 2048, "vocab_size": 262144, "max_position_embeddings": 32768,
  "rms_norm_eps": 1e-06, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256,
  "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "sliding_window": 512,
  "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
  "sliding_attention", "sliding_attention", "full_attention"]})";

// The config with one member replaced (or added).
Json with(const char* text, const char* key, Json value) {
  Json json = parse_json(text).value();
  json.as_object().set(key, std::move(value));
  return json;
}

Json without(const char* text, const char* key) {
  Json json = parse_json(text).value();
  json.as_object().erase(key);
  return json;
}

ModelConfig config_of(const Json& json) {
  const Result<ModelConfig> config = config_from_hf(json);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? config.value() : ModelConfig();
}

ModelConfig config_of(const char* text) {
  return config_of(parse_json(text).value());
}

std::string error_of(const Json& json) {
  const Result<ModelConfig> config = config_from_hf(json);
  return config.ok() ? "no error" : config.status().message();
}

TEST(ConfigFromHf, reads_llama_with_its_scaling) {
  const ModelConfig c = config_of(kLlama);
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.hidden_size, 4096);
  EXPECT_EQ(c.num_layers, 32);
  EXPECT_EQ(c.num_kv_heads, 8);
  EXPECT_EQ(c.head_dim, 128);
  EXPECT_EQ(c.vocab_size, 128256);
  EXPECT_EQ(c.max_context_len, 131072);
  EXPECT_DOUBLE_EQ(c.rms_norm_eps, 1e-5);
  EXPECT_EQ(c.rope.style, RopeStyle::kHalfSplit);
  EXPECT_EQ(c.rope.scaling, RopeScaling::kLlama3);
  EXPECT_DOUBLE_EQ(c.rope.theta, 5e5);
  EXPECT_DOUBLE_EQ(c.rope.factor, 8);
  EXPECT_DOUBLE_EQ(c.rope.low_freq_factor, 1);
  EXPECT_DOUBLE_EQ(c.rope.high_freq_factor, 4);
  EXPECT_EQ(c.rope.original_context_len, 8192);
}

TEST(ConfigFromHf, reads_qwen2_whose_window_is_switched_off) {
  const ModelConfig c = config_of(kQwen2);
  EXPECT_EQ(c.family, "qwen2");
  EXPECT_EQ(c.head_dim, 64);
  for (const bool is_window : c.is_window_layer) {
    EXPECT_FALSE(is_window);
  }
  EXPECT_THAT(error_of(with(kQwen2, "use_sliding_window", true)),
              HasSubstr("use_sliding_window without layer_types"));
}

TEST(ConfigFromHf, reads_qwen3_whose_heads_have_a_size_of_their_own) {
  const ModelConfig c = config_of(kQwen3);
  EXPECT_EQ(c.family, "qwen3");
  EXPECT_EQ(c.head_dim, 128);
  EXPECT_EQ(c.rope.rotary_dim, 128);
  EXPECT_NEAR(c.attention_scale, 0.08838834764831845, 1e-15);
}

TEST(ConfigFromHf, reads_gemma3_with_windows_and_two_rotations) {
  const ModelConfig c = config_of(kGemma3);
  EXPECT_EQ(c.family, "gemma3");
  EXPECT_DOUBLE_EQ(c.norm_weight_offset, 1);
  EXPECT_DOUBLE_EQ(c.embedding_scale, 25.25);
  EXPECT_DOUBLE_EQ(c.attention_scale, 0.0625);
  EXPECT_EQ(c.activation, Activation::kGeluTanh);
  EXPECT_EQ(c.sliding_window, 512);
  EXPECT_DOUBLE_EQ(c.rope.theta, 1e6);
  EXPECT_DOUBLE_EQ(c.local_rope.theta, 1e4);
  EXPECT_EQ(c.is_window_layer, (std::vector<bool>{true, true, true, true, true, false}));
  Json by_pattern = without(kGemma3, "layer_types");
  by_pattern.as_object().set("sliding_window_pattern", 3);
  EXPECT_EQ(config_of(by_pattern).is_window_layer,
            (std::vector<bool>{true, true, false, true, true, false}));
}

TEST(ConfigFromHf, a_query_scalar_of_its_own_sets_the_attention_scale) {
  EXPECT_DOUBLE_EQ(config_of(with(kGemma3, "query_pre_attn_scalar", 64)).attention_scale, 0.125);
}

TEST(ConfigFromHf, mistral_is_a_llama_whose_layers_may_all_have_a_window) {
  Json json = with(kLlama, "model_type", "mistral");
  json.as_object().set("rope_scaling", nullptr);
  json.as_object().set("sliding_window", 4096);
  const ModelConfig c = config_of(json);
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.sliding_window, 4096);
  EXPECT_EQ(c.is_window_layer, std::vector<bool>(32, true));
  json.as_object().set("sliding_window", nullptr);
  EXPECT_EQ(config_of(json).is_window_layer, std::vector<bool>(32, false));
}

TEST(ConfigFromHf, reads_every_kind_of_scaling) {
  const auto scaled = [](const char* scaling) {
    return config_of(with(kQwen3, "rope_scaling", parse_json(scaling).value())).rope;
  };
  EXPECT_EQ(scaled(R"({"type": "linear", "factor": 2})").scaling, RopeScaling::kLinear);
  EXPECT_EQ(scaled(R"({"rope_type": "default"})").scaling, RopeScaling::kNone);
  const RopeConfig yarn = scaled(
      R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768,
          "attention_factor": 1.25, "beta_fast": 16, "beta_slow": 2})");
  EXPECT_EQ(yarn.scaling, RopeScaling::kYarn);
  EXPECT_EQ(yarn.original_context_len, 32768);
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 1.25);
  EXPECT_DOUBLE_EQ(yarn.beta_fast, 16);
  EXPECT_DOUBLE_EQ(yarn.beta_slow, 2);
  const RopeConfig longrope =
      scaled(R"({"rope_type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4.5]})");
  EXPECT_EQ(longrope.scaling, RopeScaling::kLongRope);
  EXPECT_EQ(longrope.short_factors, (std::vector<double>{1, 2}));
  EXPECT_EQ(longrope.long_factors, (std::vector<double>{3, 4.5}));
  EXPECT_THAT(
      error_of(with(kQwen3, "rope_scaling", parse_json(R"({"rope_type": "mrope"})").value())),
      AllOf(HasSubstr("'mrope'"), HasSubstr("longrope")));
}

TEST(ConfigFromHf, reads_rope_parameters_of_each_layer_kind) {
  Json json = with(kGemma3, "rope_parameters",
                   parse_json(R"({
      "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
      "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})")
                       .value());
  json.as_object().erase("rope_theta");
  json.as_object().erase("rope_local_base_freq");
  const ModelConfig c = config_of(json);
  EXPECT_DOUBLE_EQ(c.rope.theta, 1e6);
  EXPECT_EQ(c.rope.scaling, RopeScaling::kLinear);
  EXPECT_DOUBLE_EQ(c.rope.factor, 8);
  EXPECT_DOUBLE_EQ(c.local_rope.theta, 1e4);
  EXPECT_EQ(c.local_rope.scaling, RopeScaling::kNone);
}

TEST(ConfigFromHf, a_text_model_inside_another_is_found) {
  const Json json =
      JsonObject{{"model_type", "gemma3"}, {"text_config", parse_json(kGemma3).value()}};
  EXPECT_EQ(config_of(json).hidden_size, 640);
}

TEST(ConfigFromHf, names_the_missing_or_mistyped_key) {
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "vocab_size", "max_position_embeddings"}) {
    const std::string expected =
        "config.json: '" + std::string(key) + "' is missing or not an integer";
    EXPECT_EQ(error_of(without(kLlama, key)), expected);
    EXPECT_EQ(error_of(with(kLlama, key, "many")), expected);
    EXPECT_EQ(error_of(with(kLlama, key, 2.5)), expected);
  }
  EXPECT_THAT(error_of(with(kLlama, "rms_norm_eps", "small")), HasSubstr("'rms_norm_eps'"));
  EXPECT_THAT(error_of(with(kLlama, "hidden_act", 3)), HasSubstr("'hidden_act'"));
}

TEST(ConfigFromHf, an_unknown_type_is_answered_with_the_known_families) {
  const std::string known = "expected one of llama, qwen2, qwen3, gemma3";
  EXPECT_THAT(error_of(with(kLlama, "model_type", "bert")),
              AllOf(HasSubstr("'bert'"), HasSubstr(known)));
  EXPECT_THAT(error_of(without(kLlama, "model_type")), HasSubstr(known));
  EXPECT_THAT(error_of(Json()), HasSubstr(known));
  EXPECT_THAT(error_of(JsonArray{1, 2}), HasSubstr(known));
}

TEST(ConfigFromHf, senseless_numbers_are_errors) {
  EXPECT_THAT(error_of(with(kLlama, "hidden_size", 0)), HasSubstr("hidden size is 0"));
  EXPECT_THAT(error_of(with(kLlama, "num_attention_heads", 0)), HasSubstr("query heads is 0"));
  EXPECT_THAT(error_of(with(kLlama, "num_key_value_heads", 5)), HasSubstr("not a multiple of 5"));
  EXPECT_THAT(error_of(with(kLlama, "rope_theta", -1)), HasSubstr("rope base"));
  EXPECT_THAT(error_of(with(kLlama, "partial_rotary_factor", 1.5)), HasSubstr("rotary dimension"));
  EXPECT_THAT(error_of(with(kLlama, "partial_rotary_factor", 1e300)), HasSubstr("rotary"));
  EXPECT_THAT(error_of(with(kLlama, "hidden_act", "relu2")), HasSubstr("'relu2'"));
  EXPECT_THAT(error_of(with(kGemma3, "layer_types", JsonArray{"full_attention"})),
              HasSubstr("layer_types has 1 entries, expected 6"));
  EXPECT_THAT(error_of(with(kGemma3, "sliding_window", -4)), HasSubstr("sliding window"));
  EXPECT_THAT(error_of(with(kGemma3, "rope_local_base_freq", 0)), HasSubstr("rope base"));
  EXPECT_THAT(error_of(with(kGemma3, "query_pre_attn_scalar", 0)), HasSubstr("attention scale"));
  EXPECT_THAT(error_of(with(kGemma3, "query_pre_attn_scalar", -1)), HasSubstr("attention scale"));
}

TEST(ConfigFromHf, senseless_scalings_are_errors) {
  const auto scaled = [](const char* scaling) {
    return error_of(with(kQwen3, "rope_scaling", parse_json(scaling).value()));
  };
  EXPECT_THAT(scaled(R"({"rope_type": "linear", "factor": 0})"), HasSubstr("rope factor"));
  EXPECT_THAT(scaled(R"({"rope_type": "yarn", "factor": 2,
                         "original_max_position_embeddings": 0})"),
              HasSubstr("original context"));
  EXPECT_THAT(scaled(R"({"rope_type": "llama3", "factor": 2, "low_freq_factor": 4,
                         "high_freq_factor": 4})"),
              HasSubstr("frequency factors"));
  EXPECT_THAT(scaled(R"({"rope_type": "longrope"})"), HasSubstr("short_factor and long_factor"));
  EXPECT_THAT(scaled(R"({"rope_type": "longrope", "short_factor": [0], "long_factor": ["a"]})"),
              HasSubstr("not a number"));
}

}  // namespace
}  // namespace plumb
