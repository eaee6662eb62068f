// SPDX-License-Identifier: Apache-2.0
#include "engine/embedding_model.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/synthesize.h"
#include "kernels/meta/meta_backend.h"
#include "kernels/ref/ref_backend.h"
#include "model/families.h"
#include "ops/op_context.h"

namespace plumb {
namespace {

class DecoderEmbeddingTest : public testing::TestWithParam<const char*> {
 protected:
  DecoderEmbeddingTest()
      : file_(testing::TempDir() + "plumb_embedding_" + std::to_string(::getpid()) + ".gguf"),
        backend_(make_ref_backend()),
        meta_(make_meta_backend()) {
    EXPECT_TRUE(synthesize_gguf(*synthesis_preset(GetParam()), file_).ok());
    checkpoint_ = Checkpoint::open(file_).value();
  }

  ~DecoderEmbeddingTest() override { std::filesystem::remove(file_); }

  std::unique_ptr<Model> model() { return load_model({*checkpoint_, *backend_, {}}).value(); }

  std::unique_ptr<EmbeddingModel> embedding(Pooling pooling) {
    auto made = make_decoder_embedding(model(), pooling,
                                       {backend_.get(), backend_->ops(), &meta_->ops()}, {40, 3});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made).value();
  }

  static std::vector<std::vector<float>> embed(EmbeddingModel& model,
                                               const std::vector<std::vector<TokenId>>& texts) {
    const std::vector<std::span<const TokenId>> views(texts.begin(), texts.end());
    return model.embed(views).value();
  }

  std::string file_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<MetaBackend> meta_;
  std::unique_ptr<Checkpoint> checkpoint_;
};

const std::vector<std::vector<TokenId>> kTexts{{5, 6, 7, 8, 9}, {11}, {5, 6}};

TEST_P(DecoderEmbeddingTest, a_text_has_one_vector_whatever_stands_beside_it) {
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean, Pooling::kFirst}) {
    const auto model = embedding(pooling);
    const auto together = embed(*model, kTexts);
    ASSERT_EQ(together.size(), 3U);
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      EXPECT_EQ(embed(*model, {kTexts[i]}).front(), together[i]);
    }
  }
}

TEST_P(DecoderEmbeddingTest, the_mean_is_that_of_the_last_states_of_all_prefixes) {
  const auto last = embedding(Pooling::kLast);
  const auto mean = embedding(Pooling::kMean);
  const auto first = embedding(Pooling::kFirst);
  const std::vector<TokenId>& text = kTexts.front();
  std::vector<double> sum(static_cast<std::size_t>(last->facts().hidden_size));
  for (std::size_t length = 1; length <= text.size(); ++length) {
    const auto vector =
        embed(*last, {{text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)}}).front();
    if (length == 1) {
      EXPECT_EQ(embed(*first, {text}).front(), vector);
    }
    for (std::size_t h = 0; h < sum.size(); ++h) {
      sum[h] += static_cast<double>(vector[h]) / static_cast<double>(text.size());
    }
  }
  const auto pooled = embed(*mean, {text}).front();
  for (std::size_t h = 0; h < sum.size(); ++h) {
    EXPECT_NEAR(pooled[h], sum[h], 1e-5) << h;
  }
}

INSTANTIATE_TEST_SUITE_P(families, DecoderEmbeddingTest,
                         testing::Values("tiny-llama", "tiny-qwen3", "tiny-gemma3"));

}  // namespace
}  // namespace plumb
