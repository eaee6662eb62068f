// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "model/model_config.h"

namespace plumb {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Strings = std::vector<std::string>;

Metadata header(const std::string& arch) {
  Metadata m;
  m.set("general.architecture", arch);
  m.set("general.name", std::string("A model"));
  m.set(arch + ".embedding_length", std::int64_t{576});
  m.set(arch + ".block_count", std::int64_t{30});
  m.set(arch + ".attention.head_count", std::int64_t{9});
  m.set(arch + ".attention.head_count_kv", std::int64_t{3});
  m.set(arch + ".feed_forward_length", std::int64_t{1536});
  m.set(arch + ".context_length", std::int64_t{8192});
  m.set(arch + ".attention.layer_norm_rms_epsilon", 1e-6);
  m.set(arch + ".rope.freq_base", 1e5);
  m.set(arch + ".vocab_size", std::int64_t{49152});
  return m;
}

std::string gguf_error(const Metadata& m) {
  const Result<ModelConfig> config = config_from_gguf(m);
  return config.ok() ? "no error" : config.status().message();
}

TEST(ConfigFromGguf, reads_a_llama_header) {
  const Result<ModelConfig> config = config_from_gguf(header("llama"));
  ASSERT_TRUE(config.ok()) << config.status().message();
  const ModelConfig& c = config.value();
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.name, "A model");
  EXPECT_EQ(c.hidden_size, 576);
  EXPECT_EQ(c.num_layers, 30);
  EXPECT_EQ(c.num_q_heads, 9);
  EXPECT_EQ(c.num_kv_heads, 3);
  EXPECT_EQ(c.head_dim, 64) << "hidden size over query heads";
  EXPECT_EQ(c.intermediate_size, 1536);
  EXPECT_EQ(c.vocab_size, 49152);
  EXPECT_EQ(c.max_context_len, 8192);
  EXPECT_DOUBLE_EQ(c.rms_norm_eps, 1e-6);
  EXPECT_DOUBLE_EQ(c.norm_weight_offset, 0);
  EXPECT_DOUBLE_EQ(c.attention_scale, 0.125);
  EXPECT_DOUBLE_EQ(c.embedding_scale, 1);
  EXPECT_EQ(c.activation, Activation::kSilu);
  EXPECT_DOUBLE_EQ(c.rope.theta, 1e5);
  EXPECT_EQ(c.rope.rotary_dim, 64);
  EXPECT_EQ(c.rope.style, RopeStyle::kInterleaved) << "GGUF permutes the rows of q and k";
  EXPECT_EQ(c.rope.scaling, RopeScaling::kNone);
}

TEST(ConfigFromGguf, qwen_heads_rotate_in_halves_and_may_have_a_size_of_their_own) {
  for (const char* arch : {"qwen2", "qwen3"}) {
    Metadata m = header(arch);
    m.set(std::string(arch) + ".attention.key_length", std::int64_t{128});
    m.set(std::string(arch) + ".attention.value_length", std::int64_t{128});
    const Result<ModelConfig> config = config_from_gguf(m);
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(config.value().family, arch);
    EXPECT_EQ(config.value().head_dim, 128);
    EXPECT_EQ(config.value().rope.rotary_dim, 128);
    EXPECT_EQ(config.value().rope.style, RopeStyle::kHalfSplit);
  }
}

TEST(ConfigFromGguf, gemma3_alternates_five_window_layers_with_one_that_sees_all) {
  Metadata m = header("gemma3");
  m.set("gemma3.embedding_length", std::int64_t{640});
  m.set("gemma3.attention.head_count", std::int64_t{4});
  m.set("gemma3.attention.head_count_kv", std::int64_t{1});
  m.set("gemma3.attention.key_length", std::int64_t{256});
  m.set("gemma3.attention.value_length", std::int64_t{256});
  m.set("gemma3.attention.sliding_window", std::int64_t{512});
  m.set("gemma3.rope.freq_base", 1e6);
  const Result<ModelConfig> config = config_from_gguf(m);
  ASSERT_TRUE(config.ok()) << config.status().message();
  const ModelConfig& c = config.value();
  EXPECT_EQ(c.activation, Activation::kGeluTanh);
  EXPECT_DOUBLE_EQ(c.embedding_scale, 25.25) << "sqrt(640) in bfloat16";
  EXPECT_DOUBLE_EQ(c.norm_weight_offset, 0) << "GGUF holds the norms with one added";
  EXPECT_DOUBLE_EQ(c.attention_scale, 0.0625);
  EXPECT_EQ(c.sliding_window, 512);
  EXPECT_DOUBLE_EQ(c.rope.theta, 1e6);
  EXPECT_DOUBLE_EQ(c.local_rope.theta, 1e4);
  ASSERT_EQ(c.is_window_layer.size(), 30U);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(c.is_window_layer[i], i % 6 != 5) << "layer " << i;
  }
}

TEST(ConfigFromGguf, vocabulary_size_may_come_from_the_token_list) {
  Metadata m = header("llama");
  m.set("llama.vocab_size", std::int64_t{0});
  m.set("tokenizer.ggml.tokens", Strings(300, "t"));
  EXPECT_EQ(config_from_gguf(m).value().vocab_size, 300);
}

TEST(ConfigFromGguf, reads_linear_and_yarn_scaling) {
  Metadata m = header("llama");
  m.set("llama.rope.scaling.type", std::string("yarn"));
  m.set("llama.rope.scaling.factor", 4.0);
  m.set("llama.rope.scaling.original_context_length", std::int64_t{2048});
  RopeConfig rope = config_from_gguf(m).value().rope;
  EXPECT_EQ(rope.scaling, RopeScaling::kYarn);
  EXPECT_DOUBLE_EQ(rope.factor, 4);
  EXPECT_EQ(rope.original_context_len, 2048);
  m.set("llama.rope.scaling.type", std::string("linear"));
  EXPECT_EQ(config_from_gguf(m).value().rope.scaling, RopeScaling::kLinear);
  m.set("llama.rope.scaling.type", std::string("dynamic"));
  EXPECT_THAT(gguf_error(m), AllOf(HasSubstr("'dynamic'"), HasSubstr("none, linear or yarn")));
}

TEST(ConfigFromGguf, names_the_missing_key) {
  for (const char* key : {"general.architecture", "llama.embedding_length", "llama.block_count",
                          "llama.attention.head_count", "llama.context_length"}) {
    const Metadata whole = header("llama");
    Metadata m;
    for (const auto& [name, value] : whole.values()) {
      if (name != key) {
        m.set(name, value);
      }
    }
    EXPECT_EQ(gguf_error(m), "metadata key '" + std::string(key) + "' is missing");
  }
}

TEST(ConfigFromGguf, an_unknown_architecture_is_answered_with_the_known_ones) {
  EXPECT_EQ(gguf_error(header("mamba")),
            "model family 'mamba' is not supported, expected one of llama, qwen2, qwen3, gemma3");
  EXPECT_EQ(config_from_gguf(header("mamba")).status().code(), Code::kUnsupported);
}

TEST(ConfigFromGguf, head_counts_that_differ_between_layers_are_not_supported) {
  Metadata m = header("llama");
  m.set("llama.attention.head_count_kv", std::vector<std::int64_t>(30, 3));
  EXPECT_EQ(config_from_gguf(m).value().num_kv_heads, 3);
  std::vector<std::int64_t> counts(30, 3);
  counts[7] = 9;
  m.set("llama.attention.head_count_kv", counts);
  EXPECT_THAT(gguf_error(m), HasSubstr("'llama.attention.head_count_kv' differs between layers"));
}

struct Senseless {
  const char* key;
  Metadata::Value value;
  const char* message;
};

TEST(ConfigFromGguf, senseless_numbers_are_errors_that_name_value_and_limit) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  const std::vector<Senseless> cases{
      {"embedding_length", std::int64_t{0}, "hidden size is 0, expected 1 to 16777216"},
      {"embedding_length", kHuge, "hidden size is 1152921504606846976"},
      {"block_count", std::int64_t{-1}, "number of layers is -1, expected 1 to 4096"},
      {"block_count", kHuge, "number of layers is"},
      {"attention.head_count", std::int64_t{0}, "number of query heads is 0"},
      {"attention.head_count_kv", std::int64_t{0}, "number of kv heads is 0"},
      {"attention.head_count_kv", std::int64_t{10}, "number of kv heads is 10, expected 1 to 9"},
      {"attention.head_count_kv", std::int64_t{4}, "9 query heads are not a multiple of 4"},
      {"attention.key_length", std::int64_t{100000},
       "head dimension is 100000, expected 1 to 1024"},
      {"feed_forward_length", std::int64_t{0}, "feed-forward size is 0"},
      {"vocab_size", std::int64_t{-5}, "vocabulary size is -5"},
      {"context_length", std::int64_t{0}, "context length is 0"},
      {"rope.dimension_count", std::int64_t{63}, "rotary dimension 63"},
      {"rope.dimension_count", std::int64_t{128}, "rotary dimension 128"},
      {"rope.freq_base", 0.0, "rope base"},
      {"rope.freq_base", std::numeric_limits<double>::quiet_NaN(), "rope base"},
      {"rope.freq_base", std::numeric_limits<double>::infinity(), "rope base"},
      {"rope.scaling.factor", -2.0, "rope factor"},
      {"attention.layer_norm_rms_epsilon", -1.0, "norm epsilon"},
      {"attention.layer_norm_rms_epsilon", std::numeric_limits<double>::infinity(), "norm epsilon"},
  };
  for (const Senseless& c : cases) {
    Metadata m = header("llama");
    m.set(std::string("llama.") + c.key, c.value);
    EXPECT_THAT(gguf_error(m), HasSubstr(c.message)) << c.key;
  }
}

TEST(ConfigFromGguf, senseless_windows_and_local_rotations_are_errors) {
  Metadata m = header("gemma3");
  m.set("gemma3.attention.sliding_window", std::int64_t{-1});
  EXPECT_THAT(gguf_error(m), HasSubstr("sliding window"));
  m.set("gemma3.attention.sliding_window", std::int64_t{512});
  m.set("gemma3.rope.freq_base_swa", 0.0);
  EXPECT_THAT(gguf_error(m), HasSubstr("rope base"));
}

}  // namespace
}  // namespace plumb
