// SPDX-License-Identifier: Apache-2.0
#include "model/weight_loader.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "base/file.h"
#include "checkpoint/gguf_writer.h"
#include "model/model_test_scene.h"
#include "tensor/format.h"

namespace plumb {
namespace {

using testing::HasSubstr;

class WeightLoaderTest : public ModelTest {
 protected:
  // Copies a checkpoint, with the specs (of the tensors that are kept) changed.
  template <class Change>
  std::string rewritten(const Checkpoint& from, Change change) {
    GgufPairs pairs;
    for (const auto& [key, value] : from.metadata().values()) {
      std::visit([&](const auto& v) { add(key, v, &pairs); }, value);
    }
    std::vector<GgufTensorSpec> specs;
    for (const TensorRecord& record : from.tensors()) {
      specs.push_back({record.name, *record.dtype, record.dims});
    }
    change(&specs);
    std::string file = path("rewritten" + std::to_string(num_files_++) + ".gguf");
    Result<GgufWriter> writer = GgufWriter::create(file, pairs, specs);
    expect_ok(writer.status());
    for (const GgufTensorSpec& spec : specs) {
      std::int64_t num_elements = 0;
      multiply_dims(spec.dims, &num_elements);
      const std::vector<std::byte> zeros(
          static_cast<std::size_t>(row_bytes(spec.dtype, num_elements)));
      expect_ok(writer.value().append(zeros));
    }
    expect_ok(writer.value().finish());
    return file;
  }

  std::string load_error(const std::string& file) {
    const std::unique_ptr<Checkpoint> checkpoint = open(file);
    const Result<std::unique_ptr<Model>> model = load_model({*checkpoint, *backend_, {}});
    return model.ok() ? "no error" : model.status().message();
  }

  std::unique_ptr<Backend> backend_ = make_ref_backend();

 private:
  template <class T>
  static void add(const std::string& key, const T& value, GgufPairs* pairs) {
    if constexpr (std::is_same_v<T, double>) {
      pairs->emplace_back(key, static_cast<float>(value));
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      pairs->emplace_back(key, std::vector<float>(value.begin(), value.end()));
    } else {
      pairs->emplace_back(key, value);
    }
  }
};

GgufTensorSpec* find(std::vector<GgufTensorSpec>* specs, const std::string& name) {
  for (GgufTensorSpec& spec : *specs) {
    if (spec.name == name) {
      return &spec;
    }
  }
  ADD_FAILURE() << name;
  return nullptr;
}

TEST_F(WeightLoaderTest, reports_all_missing_misshapen_and_unexpected_tensors_at_once) {
  const std::unique_ptr<Checkpoint> whole = gguf(tiny("llama"));
  const std::string error = load_error(rewritten(*whole, [](std::vector<GgufTensorSpec>* specs) {
    find(specs, "blk.0.attn_q.weight")->name = "blk.0.attn_quack.weight";
    find(specs, "blk.1.ffn_norm.weight")->name = "blk.1.odd.weight";
    find(specs, "blk.1.ffn_down.weight")->dims = {128, 64};
    find(specs, "output_norm.weight")->dims = {63};
  }));
  EXPECT_THAT(error, HasSubstr("missing tensors: blk.0.attn_q.weight, blk.1.ffn_norm.weight"));
  EXPECT_THAT(error, HasSubstr("unexpected tensors: blk.0.attn_quack.weight, blk.1.odd.weight"));
  EXPECT_THAT(error, HasSubstr("tensor 'blk.1.ffn_down.weight' is [128, 64], expected [64, 128]"));
  EXPECT_THAT(error, HasSubstr("tensor 'output_norm.weight' is [63], expected [64]"));
  EXPECT_THAT(error, HasSubstr("rewritten")) << "the file";
}

TEST_F(WeightLoaderTest, a_long_list_is_cut_short) {
  const std::unique_ptr<Checkpoint> whole = gguf(tiny("qwen2"));
  const std::string error = load_error(rewritten(*whole, [](std::vector<GgufTensorSpec>* specs) {
    for (GgufTensorSpec& spec : *specs) {
      spec.name += ".x";
    }
  }));
  EXPECT_THAT(error, HasSubstr("and 6 more"));
  EXPECT_LT(error.size(), 2000U);
}

TEST_F(WeightLoaderTest, floats_are_rounded_where_a_row_is_whole_blocks) {
  const std::unique_ptr<Checkpoint> checkpoint = hf_folder(tiny("llama"));
  WeightLoader load(*checkpoint, *backend_, {});
  const TensorName down{"", "model.layers.0.mlp.down_proj.weight"};
  const Weight rounded = load.rounded_matrix(down, 64, 128, ShardKind::kReplicate);
  const Weight exact = load.matrix(down, 64, 128, ShardKind::kReplicate);
  const Weight narrow = load.rounded_matrix({"", "model.layers.0.mlp.up_proj.weight"}, 128, 64,
                                            ShardKind::kReplicate);
  EXPECT_EQ(rounded.dtype(), DType::kQ13);
  EXPECT_FALSE(rounded.is_mapped()) << "the copy is gone";
  EXPECT_EQ(narrow.dtype(), exact.dtype());
  std::vector<float> a(128);
  std::vector<float> b(128);
  for (std::int64_t row = 0; row < 64; ++row) {
    rounded.unpack_row(row, a.data());
    exact.unpack_row(row, b.data());
    float largest = 0.0F;
    for (const float value : b) {
      largest = std::max(largest, std::abs(value));
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_LE(std::abs(a[i] - b[i]), largest / 4095.0F * 0.501F) << row;
    }
  }
}

TEST_F(WeightLoaderTest, norms_in_a_packed_format_are_refused) {
  const std::unique_ptr<Checkpoint> whole = gguf(tiny("llama"));
  const std::string error = load_error(rewritten(*whole, [](std::vector<GgufTensorSpec>* specs) {
    find(specs, "output_norm.weight")->dtype = DType::kQ8_0;
  }));
  EXPECT_THAT(error, HasSubstr("'output_norm.weight' has type Q8_0, expected F32, F16 or BF16"));
}

TEST_F(WeightLoaderTest, the_checkpoint_as_generated_has_no_problem) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const std::unique_ptr<Checkpoint> whole = gguf(tiny(architecture));
    EXPECT_EQ(load_error(rewritten(*whole, [](std::vector<GgufTensorSpec>*) {})), "no error");
  }
}

TEST_F(WeightLoaderTest, an_output_matrix_of_its_own_counts_and_a_tied_one_does_not) {
  SynthesisSpec spec = tiny("llama");
  const std::unique_ptr<Checkpoint> tied = gguf(spec);
  spec.tie_embeddings = false;
  const std::unique_ptr<Checkpoint> untied = gguf(spec);
  const std::int64_t matrix = spec.vocab_size * spec.hidden_size;
  const std::int64_t without = load_model({*tied, *backend_, {}}).value()->facts().num_parameters;
  EXPECT_EQ(load_model({*untied, *backend_, {}}).value()->facts().num_parameters, without + matrix);
}

TEST_F(WeightLoaderTest, biases_are_optional_and_checked) {
  const std::unique_ptr<Checkpoint> whole = gguf(tiny("qwen2"));
  EXPECT_EQ(load_error(rewritten(*whole,
                                 [](std::vector<GgufTensorSpec>* specs) {
                                   specs->erase(std::remove_if(specs->begin(), specs->end(),
                                                               [](const GgufTensorSpec& spec) {
                                                                 return spec.name.find(".bias") !=
                                                                        std::string::npos;
                                                               }),
                                                specs->end());
                                 })),
            "no error");
  EXPECT_THAT(load_error(rewritten(*whole,
                                   [](std::vector<GgufTensorSpec>* specs) {
                                     find(specs, "blk.0.attn_k.bias")->dims = {31};
                                   })),
              HasSubstr("tensor 'blk.0.attn_k.bias' is [31], expected [32]"));
}

TEST_F(WeightLoaderTest, vectors_take_their_offset_and_their_share) {
  const std::unique_ptr<Checkpoint> checkpoint = gguf(tiny("qwen2"));
  const RawTensor bias = checkpoint->tensor("blk.0.attn_q.bias").value();
  std::vector<float> whole(64);
  dequantize(bias.dtype, bias.bytes.data(), 64, whole.data());
  for (int rank = 0; rank < 2; ++rank) {
    WeightLoader load(*checkpoint, *backend_, {rank, 2});
    const Parameter part = load.vector({"blk.0.attn_q.bias", ""}, 64, ShardKind::kColumns, 0.5);
    ASSERT_EQ(part.tensor.dim(0), 32);
    for (std::int64_t i = 0; i < 32; ++i) {
      EXPECT_FLOAT_EQ(part.tensor.as<const float>()[i],
                      whole[static_cast<std::size_t>(rank * 32 + i)] + 0.5F);
    }
  }
}

TEST_F(WeightLoaderTest, more_ranks_than_can_share_are_refused_with_the_numbers) {
  const std::unique_ptr<Checkpoint> checkpoint = gguf(tiny("llama"));
  const Status status = load_model({*checkpoint, *backend_, {0, 4}}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("2 kv heads"));
}

TEST_F(WeightLoaderTest, tied_output_missing_in_a_folder_that_says_it_has_one_is_an_error) {
  SynthesisSpec spec = tiny("llama");
  spec.quant = "F32";
  const std::unique_ptr<Checkpoint> tied = hf_folder(spec);
  const std::string config = tied->folder() + "/config.json";
  std::string text = read_file(config).value();
  const std::size_t at = text.find("\"tie_word_embeddings\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(text.find("true", at), 4, "false");
  expect_ok(write_file_atomic(config, text));
  EXPECT_THAT(load_error(tied->folder()), HasSubstr("missing tensors: lm_head.weight"));
}

}  // namespace
}  // namespace plumb
