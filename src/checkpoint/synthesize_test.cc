// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/synthesize.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/synthesize_tokenizer.h"
#include "tensor/format.h"

namespace plumb {
namespace {

SynthesisSpec tiny(const std::string& architecture) {
  return *synthesis_preset("tiny-" + architecture);
}

std::vector<float> values_of(const Checkpoint& checkpoint, const std::string& name) {
  const Result<RawTensor> tensor = checkpoint.tensor(name);
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  if (!tensor.ok()) {
    return {};
  }
  const std::int64_t n = tensor.value().shape.num_elements();
  std::vector<float> values(static_cast<std::size_t>(n));
  dequantize(tensor.value().dtype, tensor.value().bytes.data(), n, values.data());
  return values;
}

class Synthesis : public testing::Test {
 protected:
  Synthesis() : folder_(testing::TempDir() + "plumb_synthesis_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  ~Synthesis() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::unique_ptr<Checkpoint> gguf(const SynthesisSpec& spec, const std::string& name) {
    const Status status = synthesize_gguf(spec, path(name));
    EXPECT_TRUE(status.ok()) << status.message();
    return open(path(name));
  }

  static std::unique_ptr<Checkpoint> open(const std::string& p) {
    Result<std::unique_ptr<Checkpoint>> checkpoint = Checkpoint::open(p);
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    return checkpoint.ok() ? std::move(checkpoint).value() : nullptr;
  }

  std::string folder_;
};

TEST_F(Synthesis, a_file_holds_the_tensors_and_keys_of_its_architecture) {
  struct Expected {
    std::string architecture;
    std::size_t per_layer;
    std::vector<std::string> names;
  };

  const std::vector<Expected> all{
      {"llama", 9, {"blk.1.attn_q.weight", "blk.0.ffn_down.weight"}},
      {"qwen2", 12, {"blk.0.attn_q.bias", "blk.0.attn_k.bias", "blk.0.attn_v.bias"}},
      {"qwen3", 11, {"blk.0.attn_q_norm.weight", "blk.0.attn_k_norm.weight"}},
      {"gemma3", 13, {"blk.0.post_attention_norm.weight", "blk.0.post_ffw_norm.weight"}}};
  for (const Expected& expected : all) {
    SynthesisSpec spec = tiny(expected.architecture);
    const auto tied = gguf(spec, "tied.gguf");
    ASSERT_NE(tied, nullptr);
    const std::size_t layers = static_cast<std::size_t>(spec.num_layers);
    EXPECT_EQ(tied->tensors().size(), 2 + layers * expected.per_layer) << expected.architecture;
    for (const std::string& name : expected.names) {
      EXPECT_NE(tied->find(name), nullptr) << expected.architecture << " " << name;
    }
    const Metadata& m = tied->metadata();
    EXPECT_EQ(m.get<std::int64_t>(spec.architecture + ".block_count").value(), spec.num_layers);
    EXPECT_EQ(m.get<std::string>("tokenizer.ggml.model").value(), "gpt2");
    EXPECT_EQ(m.get<std::vector<std::string>>("tokenizer.ggml.tokens").value().size(), 512U);
    spec.tie_embeddings = false;
    EXPECT_NE(gguf(spec, "untied.gguf")->find("output.weight"), nullptr);
  }
}

TEST_F(Synthesis, equal_specs_give_equal_bytes_and_seeds_matter) {
  SynthesisSpec spec = tiny("qwen2");
  spec.quant = "Q8_0";
  gguf(spec, "a");
  gguf(spec, "b");
  spec.seed = 2;
  gguf(spec, "c");
  EXPECT_EQ(read_file(path("a")).value(), read_file(path("b")).value());
  EXPECT_NE(read_file(path("a")).value(), read_file(path("c")).value());
}

TEST_F(Synthesis, file_and_folder_describe_the_same_function) {
  SynthesisSpec llama = tiny("llama");
  const auto file = gguf(llama, "m.gguf");
  ASSERT_TRUE(synthesize_folder(llama, path("hf")).ok());
  const auto folder = open(path("hf"));
  ASSERT_NE(folder, nullptr);
  EXPECT_EQ(file->tensors().size(), folder->tensors().size());
  EXPECT_EQ(values_of(*file, "token_embd.weight"), values_of(*folder, "model.embed_tokens.weight"));
  EXPECT_EQ(values_of(*file, "blk.1.attn_norm.weight"),
            values_of(*folder, "model.layers.1.input_layernorm.weight"));
  // Rotated rows of a head come as pairs in GGUF and as halves in the folder.
  const std::vector<float> pairs = values_of(*file, "blk.0.attn_k.weight");
  const std::vector<float> halves = values_of(*folder, "model.layers.0.self_attn.k_proj.weight");
  const std::size_t cols = 64;
  const std::size_t dim = 16;
  for (std::size_t row = 0; row < 32; ++row) {
    const std::size_t inside = row % dim;
    const std::size_t other = row - inside + (inside % 2) * dim / 2 + inside / 2;
    for (std::size_t c = 0; c < cols; ++c) {
      ASSERT_EQ(pairs[row * cols + c], halves[other * cols + c]) << row;
    }
  }
}

TEST_F(Synthesis, norm_weights_of_gemma_are_less_one_in_the_folder) {
  const SynthesisSpec spec = tiny("gemma3");
  const auto file = gguf(spec, "m.gguf");
  ASSERT_TRUE(synthesize_folder(spec, path("hf")).ok());
  const auto folder = open(path("hf"));
  const std::vector<float> a = values_of(*file, "blk.0.post_ffw_norm.weight");
  const std::vector<float> b =
      values_of(*folder, "model.layers.0.post_feedforward_layernorm.weight");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i] + 1.0F, 1e-6F);
  }
  EXPECT_EQ(folder->config().find("model_type")->as_string(), "gemma3_text");
  EXPECT_EQ(folder->config().find("layer_types")->as_array()[5].as_string(), "full_attention");
}

TEST_F(Synthesis, shards_respect_their_limit_and_hold_everything) {
  SynthesisSpec spec = tiny("qwen3");
  spec.quant = "BF16";
  std::uint64_t last_done = 0;
  std::uint64_t last_total = 0;
  const Status status =
      synthesize_folder(spec, path("hf"), 100'000, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_GT(done, last_done);
        last_done = done;
        last_total = total;
        return Status();
      });
  ASSERT_TRUE(status.ok()) << status.message();
  const auto folder = open(path("hf"));
  ASSERT_NE(folder, nullptr);
  EXPECT_GE(folder->num_files(), 2);
  EXPECT_EQ(last_done, last_total);
  EXPECT_EQ(folder->total_tensor_bytes(), last_total);
  EXPECT_LE(folder->total_file_bytes(),
            static_cast<std::uint64_t>(folder->num_files()) * (100'000 + 8192));
  EXPECT_EQ(folder->tensors().size(), 2U + 2 * 11);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"}) {
    EXPECT_TRUE(folder->read_json(name).ok()) << name;
  }
}

TEST_F(Synthesis, a_mix_gives_more_bits_where_they_count_and_rows_that_do_not_divide_a_wider_type) {
  SynthesisSpec spec = tiny("llama");
  spec.hidden_size = 256;
  spec.intermediate_size = 320;
  spec.num_layers = 8;
  spec.quant = "Q4_K_M";
  const auto file = gguf(spec, "m.gguf");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->find("token_embd.weight")->dtype, DType::kQ6_K);
  EXPECT_EQ(file->find("blk.0.attn_v.weight")->dtype, DType::kQ6_K);
  EXPECT_EQ(file->find("blk.1.attn_v.weight")->dtype, DType::kQ4_K);
  EXPECT_EQ(file->find("blk.1.attn_q.weight")->dtype, DType::kQ4_K);
  EXPECT_EQ(file->find("blk.0.ffn_down.weight")->dtype, DType::kQ8_0);
  EXPECT_EQ(file->find("blk.1.ffn_down.weight")->dtype, DType::kQ5_0);
  EXPECT_EQ(file->find("blk.1.ffn_norm.weight")->dtype, DType::kF32);
  EXPECT_EQ(file->metadata().get<std::int64_t>("general.file_type").value(), 15);
}

TEST_F(Synthesis, every_type_gives_a_file_with_weights_of_the_same_scale) {
  for (const char* quant :
       {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K",
        "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4", "Q3_K_M", "Q5_K_M"}) {
    SynthesisSpec spec = tiny("llama");
    spec.hidden_size = 256;
    spec.quant = quant;
    const auto file = gguf(spec, "m.gguf");
    ASSERT_NE(file, nullptr);
    double energy = 0;
    const std::vector<float> values = values_of(*file, "blk.1.ffn_up.weight");
    for (const float v : values) {
      energy += static_cast<double>(v) * static_cast<double>(v);
    }
    const double deviation = std::sqrt(energy / static_cast<double>(values.size()));
    EXPECT_NEAR(deviation, 1.0 / 16.0, 0.01) << quant;
  }
}

TEST_F(Synthesis, large_quantised_tensors_are_drawn_from_a_sample) {
  SynthesisSpec spec = tiny("llama");
  spec.hidden_size = 256;
  spec.vocab_size = 8192;
  spec.quant = "Q4_K";
  const auto file = gguf(spec, "m.gguf");
  ASSERT_NE(file, nullptr);
  double sum = 0;
  double energy = 0;
  const std::vector<float> values = values_of(*file, "token_embd.weight");
  for (const float v : values) {
    sum += static_cast<double>(v);
    energy += static_cast<double>(v) * static_cast<double>(v);
  }
  const double n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0.0, 1e-3);
  EXPECT_NEAR(std::sqrt(energy / n), 0.02, 1e-3);
  const std::vector<float> row0(values.begin(), values.begin() + 256);
  const std::vector<float> row1(values.begin() + 256, values.begin() + 512);
  EXPECT_NE(row0, row1);
}

TEST_F(Synthesis, an_error_of_the_progress_ends_the_writing_and_leaves_no_file) {
  const std::string file = path("stopped.gguf");
  const Status status = synthesize_gguf(tiny("llama"), file, [](std::uint64_t, std::uint64_t) {
    return Status{Code::kCancelled, "enough"};
  });
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST(SynthesisSpecs, all_problems_are_reported_at_once) {
  SynthesisSpec spec;
  spec.architecture = "gpt9";
  spec.num_layers = 0;
  spec.vocab_size = 10;
  spec.head_dim = 15;
  spec.num_kv_heads = 3;
  spec.quant = "Q9";
  const Status status = validate(spec);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (const char* part : {"gpt9", "number of layers is 0", "vocabulary size is 10, allowed is 260",
                           "head size is odd", "no multiple", "quant 'Q9'"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part;
  }
  EXPECT_EQ(synthesize_gguf(spec, "/nonexistent/x").code(), Code::kInvalidArgument);
  spec = {};
  EXPECT_EQ(synthesize_gguf(spec, "/nonexistent/x").code(), Code::kNotFound);
  spec.quant = "Q4_K_M";
  EXPECT_EQ(synthesize_folder(spec, "/nonexistent/x").code(), Code::kInvalidArgument);
}

TEST(SynthesisSpecs, every_preset_is_valid) {
  EXPECT_FALSE(synthesis_preset("unknown").has_value());
  for (const std::string& name : synthesis_preset_names()) {
    const Status status = validate(*synthesis_preset(name));
    EXPECT_TRUE(status.ok()) << name << ": " << status.message();
  }
}

TEST(SynthesisTokenizers, tokens_are_unique_and_every_merge_makes_a_token) {
  for (const std::int64_t size : {std::int64_t{260}, std::int64_t{263}, std::int64_t{30000}}) {
    const SynthesisTokenizer tokenizer = synthesis_tokenizer(size);
    EXPECT_EQ(static_cast<std::int64_t>(tokenizer.tokens.size()), size);
    const std::set<std::string> unique(tokenizer.tokens.begin(), tokenizer.tokens.end());
    EXPECT_EQ(unique.size(), tokenizer.tokens.size());
    EXPECT_EQ(static_cast<std::int64_t>(tokenizer.merges.size()), size - 260);
    for (std::size_t i = 0; i < tokenizer.merges.size(); ++i) {
      const std::string& merge = tokenizer.merges[i];
      const std::size_t space = merge.find(' ');
      ASSERT_EQ(merge.substr(0, space) + merge.substr(space + 1), tokenizer.tokens[260 + i]);
      ASSERT_TRUE(unique.contains(merge.substr(0, space)));
    }
  }
}

}  // namespace
}  // namespace plumb
