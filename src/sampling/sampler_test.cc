// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace plumb {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0;
  return params;
}

TokenId sampled(const std::vector<float>& logits, const SampleContext& context) {
  Sampler sampler(std::ssize(logits));
  return sampler.sample(logits, context).value().token;
}

TEST(TokenCounts, repetition_divides_positive_and_multiplies_negative_logits) {
  SamplingParams params;
  params.repetition_penalty = 2;
  TokenCounts counts;
  counts.add_prompt(std::vector<TokenId>{0, 1});
  std::vector<float> logits{2, -2, 2};
  counts.penalize(params, logits);
  EXPECT_EQ(logits, (std::vector<float>{1, -4, 2}));
}

TEST(TokenCounts, frequency_counts_and_presence_marks_the_output_only) {
  SamplingParams params;
  params.frequency_penalty = 0.5;
  params.presence_penalty = 1;
  TokenCounts counts;
  counts.add_prompt(std::vector<TokenId>{1});
  for (int i = 0; i < 3; ++i) {
    counts.add_output(0);
  }
  std::vector<float> logits{2, 2};
  counts.penalize(params, logits);
  EXPECT_EQ(logits, (std::vector<float>{-0.5F, 2}));
}

TEST(TokenCounts, extreme_penalties_stay_finite_and_forbidden_tokens_forbidden) {
  SamplingParams params;
  params.repetition_penalty = 1e-300;
  TokenCounts counts;
  counts.add_prompt(std::vector<TokenId>{0, 1});
  std::vector<float> logits{3, -kInfinity};
  counts.penalize(params, logits);
  EXPECT_EQ(logits[0], std::numeric_limits<float>::max());
  EXPECT_EQ(logits[1], -kInfinity);
}

TEST(Sampler, greedy_takes_the_lowest_id_of_the_largest_logits) {
  const SamplingParams zero = greedy();
  EXPECT_EQ(sampled({1, 5, 5, 0}, {.params = &zero}), 1);
  SamplingParams top_one;
  top_one.top_k = 1;
  EXPECT_EQ(sampled({1, 5, 5, 0}, {.params = &top_one}), 1);
}

TEST(Sampler, bias_allow_list_bans_and_penalties_act_before_the_choice) {
  const std::vector<float> logits{1, 5, 4, 0};
  SamplingParams params = greedy();
  params.logit_bias = {{3, 100.0F}};
  EXPECT_EQ(sampled(logits, {.params = &params}), 3);
  params.allowed_token_ids = {0, 2};
  EXPECT_EQ(sampled(logits, {.params = &params}), 2);  // a bias allows nothing
  params.logit_bias = {{2, -100.0F}};
  EXPECT_EQ(sampled(logits, {.params = &params}), 0);
  const std::vector<TokenId> banned{0};
  EXPECT_EQ(sampled(logits, {.params = &params, .banned = banned}), 2);  // finite beats forbidden
  SamplingParams penalized = greedy();
  penalized.presence_penalty = 2;
  TokenCounts counts;
  counts.add_output(1);
  EXPECT_EQ(sampled(logits, {.params = &penalized, .counts = &counts}), 2);
}

TEST(Sampler, rows_that_are_no_numbers_and_bans_of_everything_are_errors) {
  Sampler sampler(2);
  SamplingParams params = greedy();
  const std::vector<float> nan{1, std::nanf("")};
  EXPECT_EQ(sampler.sample(nan, {.params = &params}).status().code(), Code::kInternal);
  const std::vector<float> infinite{1, kInfinity};
  EXPECT_EQ(sampler.sample(infinite, {.params = &params}).status().code(), Code::kInternal);
  params.allowed_token_ids = {1};
  const std::vector<TokenId> banned{1};
  const std::vector<float> fine{1, 2};
  EXPECT_EQ(sampler.sample(fine, {.params = &params, .banned = banned}).status().code(),
            Code::kInvalidArgument);
}

TEST(Sampler, what_leaves_no_token_is_named_and_nothing_else) {
  Sampler sampler(2);
  const std::vector<float> logits{1, 2};
  const std::vector<std::uint32_t> mask{1};
  SamplingParams params = greedy();
  params.allowed_token_ids = {1};
  EXPECT_EQ(
      sampler.sample(logits, {.params = &params, .mask = mask}).status().message(),
      "'allowed_token_ids' and the constraint of the answer together leave no token to choose");
  params.bad_words = {{1}};
  const std::vector<TokenId> banned{0};
  EXPECT_EQ(sampler.sample(logits, {.params = &params, .banned = banned}).status().message(),
            "'allowed_token_ids', 'bad_words' and 'min_tokens' together leave no token to choose");
  SamplingParams words = greedy();
  words.bad_words = {{0}, {1}};
  EXPECT_EQ(sampler.sample(logits, {.params = &words}).status().message(),
            "'bad_words' leaves no token to choose");
}

TEST(Sampler, logprobs_are_those_of_the_model_before_any_change) {
  SamplingParams params = greedy();
  params.logprobs = true;
  params.top_logprobs = 2;
  params.logit_bias = {{0, 50.0F}};
  Sampler sampler(3);
  const std::vector<float> logits{std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  const EmittedToken token = sampler.sample(logits, {.params = &params}).value();
  EXPECT_EQ(token.token, 0);
  EXPECT_NEAR(token.logprob, std::log(0.2), 1e-6);
  ASSERT_EQ(token.top_logprobs.size(), 2U);
  EXPECT_EQ(token.top_logprobs[0].token, 1);
  EXPECT_NEAR(token.top_logprobs[1].logprob, std::log(0.3), 1e-6);
}

TEST(Sampler, processed_logprobs_are_those_of_the_distribution_that_is_drawn_from) {
  SamplingParams params;
  params.temperature = 0.5;
  params.top_k = 1;  // greedy: the temperature is not applied
  params.logprobs = true;
  params.top_logprobs = 3;
  params.logprobs_mode = LogprobsMode::kProcessed;
  params.allowed_token_ids = {0, 2};
  Sampler sampler(3);
  const std::vector<float> logits{std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  const EmittedToken best = sampler.sample(logits, {.params = &params}).value();
  EXPECT_EQ(best.token, 2);
  EXPECT_NEAR(best.logprob, std::log(0.6), 1e-6);
  params.top_k = 0;
  const EmittedToken drawn = sampler.sample(logits, {.params = &params}).value();
  ASSERT_EQ(drawn.top_logprobs.size(), 3U);
  EXPECT_NEAR(drawn.top_logprobs[0].logprob, std::log(0.09 / 0.13), 1e-6);
  EXPECT_NEAR(drawn.top_logprobs[1].logprob, std::log(0.04 / 0.13), 1e-6);
  EXPECT_EQ(drawn.top_logprobs[2].token, 1);
  EXPECT_EQ(drawn.top_logprobs[2].logprob, -kInfinity);
}

TEST(Sampler, a_bad_word_is_never_completed_by_the_output) {
  const std::vector<float> logits{1, 5, 4, 0};
  SamplingParams params = greedy();
  params.bad_words = {{2, 1}, {3}};
  const std::vector<TokenId> tokens{2, 0, 2};
  const auto after = [&](std::int64_t num_tokens, std::int64_t prompt_len) {
    SampleContext context{.params = &params};
    context.seen = {std::span(tokens).first(static_cast<std::size_t>(num_tokens)), prompt_len};
    return sampled(logits, context);
  };
  EXPECT_EQ(after(1, 1), 1);  // the prompt's 2 begins no bad word
  EXPECT_EQ(after(2, 1), 1);
  EXPECT_EQ(after(3, 1), 2);  // 2 1 would be one
  params.logit_bias = {{3, 100.0F}};
  EXPECT_EQ(after(2, 1), 1);  // and 3 always is
}

TEST(Sampler, a_grammar_mask_is_applied_before_everything_else) {
  const std::vector<float> logits{1, 5, 4, 0};
  SamplingParams params = greedy();
  const std::vector<std::uint32_t> mask{0b1001};
  EXPECT_EQ(sampled(logits, {.params = &params, .mask = mask}), 0);
  params.logit_bias = {{1, 100.0F}, {3, 10.0F}};
  EXPECT_EQ(sampled(logits, {.params = &params, .mask = mask}), 3);
  params.allowed_token_ids = {1, 2};
  Sampler sampler(4);
  EXPECT_EQ(sampler.sample(logits, {.params = &params, .mask = mask}).status().code(),
            Code::kInvalidArgument);
}

TEST(Sampler, tokens_beyond_the_end_of_a_mask_are_forbidden) {
  std::vector<float> logits(40, 0.0F);
  logits[39] = 9;
  logits[31] = 1;
  const SamplingParams params = greedy();
  const std::vector<std::uint32_t> mask{0xFFFFFFFF};
  EXPECT_EQ(sampled(logits, {.params = &params, .mask = mask}), 31);
}

TEST(Sampler, processors_run_after_the_penalties_and_in_their_order) {
  const std::vector<float> logits{1, 5, 4, 0};
  const SamplingParams params = greedy();
  std::vector<std::unique_ptr<LogitProcessor>> processors;
  processors.push_back(
      make_logit_processor({"allow_list", {{"token_ids", JsonArray{0, 2, 3}}}}, 4).value());
  EXPECT_EQ(sampled(logits, {.params = &params, .processors = processors}), 2);
  processors.push_back(
      make_logit_processor({"allow_list", {{"token_ids", JsonArray{0, 1, 3}}}}, 4).value());
  EXPECT_EQ(sampled(logits, {.params = &params, .processors = processors}), 0);
}

TEST(NeedsOnlyArgmax, is_true_for_plain_greedy_rows_alone) {
  SamplingParams params = greedy();
  EXPECT_TRUE(needs_only_argmax({.params = &params}));
  TokenCounts counts;
  EXPECT_FALSE(needs_only_argmax({.params = &params, .counts = &counts}));
  const std::vector<std::uint32_t> mask{1};
  EXPECT_FALSE(needs_only_argmax({.params = &params, .mask = mask}));
  params.bad_words = {{1}};
  EXPECT_FALSE(needs_only_argmax({.params = &params}));
  params.bad_words.clear();
  params.logprobs = true;
  EXPECT_FALSE(needs_only_argmax({.params = &params}));
  const SamplingParams drawn;
  EXPECT_FALSE(needs_only_argmax({.params = &drawn}));
}

}  // namespace
}  // namespace plumb
