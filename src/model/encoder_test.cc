// SPDX-License-Identifier: Apache-2.0
#include "model/encoder.h"

#include <array>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include "checkpoint/safetensors_writer.h"
#include "model/encoder_config.h"
#include "model/model_test_scene.h"
#include "ops/case_rng.h"

namespace plumb {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTinyBert = R"({"model_type":"bert","hidden_size":8,
  "num_hidden_layers":2,"num_attention_heads":2,"intermediate_size":12,"vocab_size":30,
  "max_position_embeddings":16,"type_vocab_size":2,"layer_norm_eps":1e-12,"hidden_act":"gelu"})";

class EncoderTest : public ModelTest {
 protected:
  void write(const std::string& name, std::string_view text) const {
    const std::string file = path("bert/" + name);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }

  static std::vector<SafetensorsSpec> tiny_tensors() {
    std::vector<SafetensorsSpec> specs;
    const auto dense = [&](const std::string& name, std::int64_t out, std::int64_t in) {
      specs.push_back({name + ".weight", DType::kF32, {out, in}});
      specs.push_back({name + ".bias", DType::kF32, {out}});
    };
    const auto norm = [&](const std::string& name) {
      specs.push_back({name + ".weight", DType::kF32, {8}});
      specs.push_back({name + ".bias", DType::kF32, {8}});
    };
    specs.push_back({"embeddings.word_embeddings.weight", DType::kF32, {30, 8}});
    specs.push_back({"embeddings.position_embeddings.weight", DType::kF32, {16, 8}});
    specs.push_back({"embeddings.token_type_embeddings.weight", DType::kF32, {2, 8}});
    norm("embeddings.LayerNorm");
    for (const std::string layer : {"encoder.layer.0.", "encoder.layer.1."}) {
      for (const char* part : {"query", "key", "value"}) {
        dense(layer + "attention.self." + part, 8, 8);
      }
      dense(layer + "attention.output.dense", 8, 8);
      norm(layer + "attention.output.LayerNorm");
      dense(layer + "intermediate.dense", 12, 8);
      dense(layer + "output.dense", 8, 12);
      norm(layer + "output.LayerNorm");
    }
    dense("pooler.dense", 8, 8);
    return specs;
  }

  std::unique_ptr<Checkpoint> bert(const std::vector<SafetensorsSpec>& specs,
                                   std::string_view config = kTinyBert) const {
    write("config.json", config);
    const std::vector<SafetensorsSpec> ordered = safetensors_order(specs);
    Result<SafetensorsWriter> writer =
        SafetensorsWriter::create(path("bert/model.safetensors"), ordered);
    expect_ok(writer.status());
    CaseRng rng(7);
    for (const SafetensorsSpec& spec : ordered) {
      const std::int64_t count =
          std::accumulate(spec.dims.begin(), spec.dims.end(), std::int64_t{1}, std::multiplies<>());
      const std::vector<float> values = rng.normals(count, 0.3F);
      expect_ok(writer.value().append(std::as_bytes(std::span(values))));
    }
    expect_ok(writer.value().finish());
    return open(path("bert"));
  }

  Status config_error(std::string_view from, std::string_view to) const {
    std::string config(kTinyBert);
    config.replace(config.find(from), from.size(), to);
    return read_encoder_config(*bert(tiny_tensors(), config)).status();
  }

  /// Hidden states of sequences in one pass.
  static std::vector<float> hidden(const Encoder& encoder, Backend& backend,
                                   const std::vector<std::vector<std::int32_t>>& sequences) {
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> positions;
    std::vector<std::int32_t> begins{0};
    for (const std::vector<std::int32_t>& sequence : sequences) {
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        ids.push_back(sequence[i]);
        positions.push_back(static_cast<std::int32_t>(i));
      }
      begins.push_back(static_cast<std::int32_t>(ids.size()));
    }
    std::vector<std::int32_t> types(ids.size(), 0);
    const auto ints = [](std::vector<std::int32_t>& values) {
      return Tensor::dense(values.data(), DType::kI32, {std::ssize(values)});
    };
    Workspace workspace = Workspace::create(backend.allocator(), 1 << 20).value();
    const std::unique_ptr<Stream> stream = backend.new_stream();
    OpContext op(backend.ops(), workspace, *stream);
    const Tensor out = encoder.forward(op, {ints(ids), ints(positions), ints(types), ints(begins)});
    return {out.as<float>(), out.as<float>() + out.num_elements()};
  }
};

TEST_F(EncoderTest, sequences_of_one_pass_do_not_see_each_other) {
  const auto checkpoint = bert(tiny_tensors());
  const auto backend = make_ref_backend();
  const auto encoder = load_encoder(*checkpoint, *backend);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  const std::vector<float> together = hidden(*encoder.value(), *backend, {{3, 4, 5}, {9}, {4, 4}});
  std::vector<float> alone = hidden(*encoder.value(), *backend, {{3, 4, 5}});
  for (const std::vector<std::int32_t>& sequence : {std::vector<std::int32_t>{9}, {4, 4}}) {
    const std::vector<float> more = hidden(*encoder.value(), *backend, {sequence});
    alone.insert(alone.end(), more.begin(), more.end());
  }
  EXPECT_EQ(together, alone);
}

TEST_F(EncoderTest, rows_see_what_comes_after_them_and_where_they_stand) {
  const auto checkpoint = bert(tiny_tensors());
  const auto backend = make_ref_backend();
  const auto encoder = load_encoder(*checkpoint, *backend);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  const std::vector<float> a = hidden(*encoder.value(), *backend, {{3, 4, 5}});
  const std::vector<float> b = hidden(*encoder.value(), *backend, {{3, 4, 6}});
  EXPECT_GT(std::abs(a[0] - b[0]), 1e-4F);
  const std::vector<float> same = hidden(*encoder.value(), *backend, {{3, 3}});
  EXPECT_GT(std::abs(same[0] - same[8]), 1e-4F);
}

TEST_F(EncoderTest, facts_and_pooling_come_from_the_files) {
  write("1_Pooling/config.json",
        R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false})");
  write("sentence_bert_config.json", R"({"max_seq_length":12})");
  const auto checkpoint = bert(tiny_tensors());
  const auto backend = make_ref_backend();
  const auto encoder = load_encoder(*checkpoint, *backend);
  ASSERT_TRUE(encoder.ok()) << encoder.status().message();
  EXPECT_TRUE(is_encoder(*checkpoint));
  EXPECT_EQ(encoder.value()->pooling(), Pooling::kFirst);
  const ModelFacts& facts = encoder.value()->facts();
  EXPECT_EQ(facts.max_context_len, 12);
  EXPECT_EQ(facts.hidden_size, 8);
  EXPECT_EQ(facts.num_parameters, 30 * 8 + 16 * 8 + 2 * 8 + 16 + 2 * (4 * 72 + 108 + 104 + 32));
}

TEST_F(EncoderTest, all_wrong_tensors_are_named_together) {
  std::vector<SafetensorsSpec> specs = tiny_tensors();
  specs[0].dims = {31, 8};
  specs[1].name = "embeddings.places.weight";
  const auto checkpoint = bert(specs);
  const auto backend = make_ref_backend();
  const std::string message = load_encoder(*checkpoint, *backend).status().message();
  EXPECT_THAT(message, HasSubstr("missing tensors: embeddings.position_embeddings.weight"));
  EXPECT_THAT(message, HasSubstr("unexpected tensors: embeddings.places.weight"));
  EXPECT_THAT(message, HasSubstr("expected [30, 8]"));
}

TEST_F(EncoderTest, a_header_that_is_not_understood_is_refused) {
  EXPECT_THAT(config_error("\"hidden_size\":8,", "").message(), HasSubstr("'hidden_size'"));
  EXPECT_THAT(config_error("\"gelu\"", "\"relu\"").message(), HasSubstr("activation 'relu'"));
  EXPECT_THAT(config_error("heads\":2", "heads\":3").message(), HasSubstr("not a multiple of 3"));
  EXPECT_THAT(config_error("layers\":2", "layers\":0").message(), HasSubstr("number of layers"));
  EXPECT_THAT(config_error("eps\":1e-12", "eps\":-1").message(), HasSubstr("norm epsilon"));
  EXPECT_THAT(config_error("{", R"({"position_embedding_type":"relative_key",)").message(),
              HasSubstr("position_embedding_type"));
  write("1_Pooling/config.json", R"({"pooling_mode_max_tokens":true})");
  EXPECT_THAT(config_error("{", "{").message(), HasSubstr("1_Pooling/config.json"));
}

TEST_F(EncoderTest, another_family_is_refused) {
  std::string config(kTinyBert);
  config.replace(config.find("\"bert\""), 6, "\"roberta\"");
  const auto checkpoint = bert(tiny_tensors(), config);
  const auto backend = make_ref_backend();
  EXPECT_FALSE(is_encoder(*checkpoint));
  EXPECT_THAT(load_encoder(*checkpoint, *backend).status().message(), HasSubstr("'roberta'"));
}

}  // namespace
}  // namespace plumb
