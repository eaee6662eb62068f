// SPDX-License-Identifier: Apache-2.0
#include "frontend/embedding_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/small_vocab.h"

namespace plumb {
namespace {

using testing::ElementsAre;

enum : TokenId { kUnknownWord, kBegin, kEnd, kRed, kBlue };

/// Vectors of ones: what is tested here stands before and behind the model.
class OnesEmbedding final : public EmbeddingModel {
 public:
  OnesEmbedding() {
    facts_.vocab_size = 5;
    facts_.max_context_len = 6;
    facts_.hidden_size = 4;
  }

  const ModelFacts& facts() const override { return facts_; }

  const EmbeddingBatchLimits& limits() const override { return limits_; }

  EmbeddingOutcome embed(std::span<const std::span<const TokenId>> sequences) override {
    return std::vector<std::vector<float>>(sequences.size(), std::vector<float>(4, 1.0F));
  }

 private:
  ModelFacts facts_;
  EmbeddingBatchLimits limits_{100, 10};
};

class EmbeddingServiceTest : public testing::Test {
 protected:
  EmbeddingServiceTest()
      : model_({}, make_tokenizer(), nullptr),
        embedder_(std::make_unique<OnesEmbedding>(), 100, clock_),
        service_(model_, embedder_) {}

  static std::unique_ptr<Tokenizer> make_tokenizer() {
    return SmallVocab()
        .token("[UNK]", 3)
        .token("[CLS]", 3)
        .token("[SEP]", 3)
        .token("▁red")
        .token("▁blue")
        .key("unknown_token_id", std::int64_t{kUnknownWord})
        .key("cls_token_id", std::int64_t{kBegin})
        .key("seperator_token_id", std::int64_t{kEnd})
        .load("bert");
  }

  std::variant<EmbeddingJob, ApiError> prepare(const std::vector<Prompt>& inputs,
                                               std::optional<std::int64_t> truncate = {}) {
    EmbeddingParams params;
    params.truncate_prompt_tokens = truncate;
    return service_.prepare(inputs, params, "input", is_unwanted_);
  }

  std::vector<std::vector<TokenId>> tokens(const std::vector<Prompt>& inputs,
                                           std::optional<std::int64_t> truncate = {}) {
    return std::get<EmbeddingJob>(prepare(inputs, truncate)).sequences;
  }

  ApiError error(const std::vector<Prompt>& inputs, std::optional<std::int64_t> truncate = {}) {
    return std::get<ApiError>(prepare(inputs, truncate));
  }

  FakeClock clock_;
  std::atomic<bool> is_unwanted_{false};
  ServedModel model_;
  Embedder embedder_;
  EmbeddingService service_;
};

TEST_F(EmbeddingServiceTest, texts_get_the_marks_of_the_model_and_ids_stay_as_they_are) {
  EXPECT_THAT(tokens({"red blue", std::vector<TokenId>{kBlue}}),
              ElementsAre(ElementsAre(kBegin, kRed, kBlue, kEnd), ElementsAre(kBlue)));
}

TEST_F(EmbeddingServiceTest, too_long_an_input_is_refused_with_its_place) {
  const ApiError refused = error({"red", "red red red red red"});
  EXPECT_EQ(refused.code, "context_length_exceeded");
  EXPECT_EQ(refused.param, "input[1]");
  EXPECT_EQ(tokens({"red red red red"}).front().size(), 6U);
}

TEST_F(EmbeddingServiceTest, truncation_keeps_the_first_tokens_and_the_marks) {
  EXPECT_THAT(tokens({"red blue red red red"}, -1).front(),
              ElementsAre(kBegin, kRed, kBlue, kRed, kRed, kEnd));
  EXPECT_THAT(tokens({"red blue red"}, 3).front(), ElementsAre(kBegin, kRed, kEnd));
  EXPECT_THAT(tokens({"red"}, 3).front(), ElementsAre(kBegin, kRed, kEnd));
  EXPECT_THAT(tokens({std::vector<TokenId>{kRed, kBlue, kRed}}, 2).front(),
              ElementsAre(kRed, kBlue));
}

TEST_F(EmbeddingServiceTest, a_truncation_that_leaves_nothing_or_too_much_is_refused) {
  EXPECT_EQ(error({"red blue"}, 2).param, "truncate_prompt_tokens");
  EXPECT_EQ(error({"red"}, 7).param, "truncate_prompt_tokens");
}

TEST_F(EmbeddingServiceTest, unknown_ids_are_refused) {
  EXPECT_EQ(error({std::vector<TokenId>{5}}).param, "input");
  EXPECT_EQ(error({std::vector<TokenId>{kRed}, std::vector<TokenId>{-1}}).param, "input[1]");
}

TEST_F(EmbeddingServiceTest, nothing_is_tokenised_for_a_client_that_left) {
  is_unwanted_ = true;
  EXPECT_EQ(error({"red"}).http_status, 503);
}

TEST_F(EmbeddingServiceTest, no_more_dimensions_than_the_model_has) {
  EmbeddingRequest request;
  EXPECT_FALSE(service_.check_dimensions(request).has_value());
  request.dimensions = 4;
  EXPECT_FALSE(service_.check_dimensions(request).has_value());
  request.dimensions = 5;
  EXPECT_EQ(service_.check_dimensions(request)->param, "dimensions");
}

TEST_F(EmbeddingServiceTest, tokens_are_counted_with_their_marks) {
  EXPECT_EQ(num_tokens_of(std::get<EmbeddingJob>(prepare({"red", "red blue"}))), 7);
}

TEST(FinishedVectors, are_cut_before_they_are_normalised) {
  EmbeddingRequest request;
  request.dimensions = 2;
  std::vector<float> vector{3, 4, 12};
  finish_vector(request, &vector);
  EXPECT_THAT(vector, ElementsAre(0.6F, 0.8F));
  request.normalize = false;
  vector = {3, 4, 12};
  finish_vector(request, &vector);
  EXPECT_THAT(vector, ElementsAre(3, 4));
}

TEST(FinishedVectors, zeros_stay_zeros) {
  std::vector<float> vector{0, 0};
  finish_vector({}, &vector);
  EXPECT_THAT(vector, ElementsAre(0, 0));
  EXPECT_EQ(cosine({0, 0}, {1, 0}), 0.0);
}

TEST(FinishedVectors, the_cosine_does_not_depend_on_length) {
  EXPECT_NEAR(cosine({3, 4}, {4, 3}), 0.96, 1e-7);
  EXPECT_NEAR(cosine({30, 40}, {0.4F, 0.3F}), 0.96, 1e-7);
}

}  // namespace
}  // namespace plumb
