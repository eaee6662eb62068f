// SPDX-License-Identifier: Apache-2.0
#include "sampling/logit_processor.h"

#include <gtest/gtest.h>
#include <limits>

namespace plumb {
namespace {

using Ids = std::vector<TokenId>;

std::unique_ptr<LogitProcessor> made(const std::string& name, JsonObject params) {
  Result<std::unique_ptr<LogitProcessor>> result =
      make_logit_processor({name, std::move(params)}, 8);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(result).value();
}

std::string error_of(const std::string& name, JsonObject params) {
  return make_logit_processor({name, std::move(params)}, 8).status().message();
}

// The tokens that are still possible after `prompt` and `output`.
Ids left(const LogitProcessor& processor, const Ids& prompt, const Ids& output) {
  Ids tokens = prompt;
  tokens.insert(tokens.end(), output.begin(), output.end());
  std::vector<float> logits(8, 1.0F);
  processor.apply({tokens, std::ssize(prompt)}, logits);
  Ids possible;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == 1.0F) {
      possible.push_back(static_cast<TokenId>(i));
    }
  }
  return possible;
}

const Ids kAll{0, 1, 2, 3, 4, 5, 6, 7};

TEST(LogitProcessors, a_thought_ends_when_its_budget_is_spent) {
  const auto p =
      made("thinking_budget", {{"budget", 2}, {"start_token_id", 6}, {"end_token_id", 7}});
  EXPECT_EQ(left(*p, {0}, {1, 2, 3}), kAll);          // no thought
  EXPECT_EQ(left(*p, {0, 6}, {1}), kAll);             // begun by the prompt, one token long
  EXPECT_EQ(left(*p, {0, 6}, {1, 2}), Ids{7});        // spent
  EXPECT_EQ(left(*p, {0, 6}, {1, 2, 7, 3}), kAll);    // over
  EXPECT_EQ(left(*p, {0, 6, 7}, {6, 1, 1}), Ids{7});  // the second one
}

TEST(LogitProcessors, without_a_start_token_the_output_begins_as_a_thought) {
  const auto p = made("thinking_budget", {{"budget", 1}, {"end_token_id", 7}});
  EXPECT_EQ(left(*p, {1, 2, 3}, {}), kAll);
  EXPECT_EQ(left(*p, {1, 2, 3}, {1}), Ids{7});
  EXPECT_EQ(left(*p, {1, 2, 3}, {1, 7, 1, 1}), kAll);
  EXPECT_EQ(left(*made("thinking_budget", {{"budget", 0}, {"end_token_id", 7}}), {1}, {}), Ids{7});
}

TEST(LogitProcessors, a_script_is_said_word_for_word) {
  const auto p = made("script", {{"token_ids", JsonArray{5, 2, 5}}, {"end_token_id", 7}});
  EXPECT_EQ(left(*p, {1, 1}, {}), Ids{5});
  EXPECT_EQ(left(*p, {1, 1}, {5, 2}), Ids{5});
  EXPECT_EQ(left(*p, {1}, {5, 2, 5}), Ids{7});
  EXPECT_EQ(left(*p, {1}, {5, 2, 5, 7}), Ids{7});
  EXPECT_EQ(left(*made("script", {{"end_token_id", 7}}), {1}, {}), Ids{7});
  EXPECT_EQ(error_of("script", {{"token_ids", JsonArray{5}}}),
            "custom_logit_processor script: parameter 'end_token_id' is missing");
}

TEST(LogitProcessors, a_script_gives_way_where_its_next_token_is_forbidden) {
  const auto p = made("script", {{"token_ids", JsonArray{5}}, {"end_token_id", 7}});
  const Ids prompt{1};
  std::vector<float> logits(8, 1.0F);
  logits[5] = -std::numeric_limits<float>::infinity();
  const std::vector<float> before = logits;
  p->apply({prompt, 1}, logits);
  EXPECT_EQ(logits, before);
}

TEST(LogitProcessors, an_allow_list_leaves_its_tokens) {
  const auto p = made("allow_list", {{"token_ids", JsonArray{5, 2, 5}}});
  EXPECT_EQ(left(*p, {1}, {}), (Ids{2, 5}));
}

TEST(LogitProcessors, no_ngram_of_the_output_comes_twice) {
  const auto p = made("ngram_ban", {{"ngram_size", 2}});
  EXPECT_EQ(left(*p, {1, 2, 1}, {}), kAll);  // the prompt does not count
  EXPECT_EQ(left(*p, {0}, {1, 2, 1}), (Ids{0, 1, 3, 4, 5, 6, 7}));
  EXPECT_EQ(left(*p, {0}, {1, 2, 1, 3, 1}), (Ids{0, 1, 4, 5, 6, 7}));
  EXPECT_EQ(left(*made("ngram_ban", {{"ngram_size", 1}}), {0}, {3, 4}), (Ids{0, 1, 2, 5, 6, 7}));
}

TEST(LogitProcessors, an_ngram_ban_looks_at_its_window_and_spares_its_whitelist) {
  const auto p = made("ngram_ban", {{"ngram_size", 2}, {"window_size", 3}});
  EXPECT_EQ(left(*p, {}, {1, 2, 4, 1}), kAll);  // 1 2 left the window
  EXPECT_EQ(left(*p, {}, {1, 2, 1}), (Ids{0, 1, 3, 4, 5, 6, 7}));
  const auto spare = made("ngram_ban", {{"ngram_size", 2}, {"whitelist_token_ids", JsonArray{2}}});
  EXPECT_EQ(left(*spare, {}, {1, 2, 1}), kAll);
}

TEST(LogitProcessors, an_unknown_name_lists_the_known_ones) {
  EXPECT_EQ(error_of("pickle", {}),
            "custom_logit_processor 'pickle' is not known, expected one of thinking_budget, "
            "allow_list, ngram_ban, script");
}

TEST(LogitProcessors, each_parameter_is_checked_and_named) {
  EXPECT_EQ(error_of("thinking_budget", {{"end_token_id", 7}}),
            "custom_logit_processor thinking_budget: parameter 'budget' is missing");
  EXPECT_EQ(error_of("thinking_budget", {{"budget", -1}, {"end_token_id", 7}}),
            "custom_logit_processor thinking_budget: parameter 'budget' is -1, expected an integer "
            "from 0 to 1099511627776");
  EXPECT_EQ(error_of("thinking_budget", {{"budget", 1}, {"end_token_id", 8}}),
            "custom_logit_processor thinking_budget: parameter 'end_token_id' is 8, expected an "
            "integer from 0 to 7");
  EXPECT_EQ(error_of("allow_list", {{"token_ids", JsonArray()}}),
            "custom_logit_processor allow_list: parameter 'token_ids' is missing");
  EXPECT_EQ(error_of("allow_list", {{"token_ids", JsonArray{1, "x"}}}),
            "custom_logit_processor allow_list: parameter 'token_ids' holds \"x\", expected token "
            "ids from 0 to 7");
  EXPECT_EQ(error_of("ngram_ban", {{"ngram_size", 2}, {"size", 3}}),
            "custom_logit_processor ngram_ban: parameter 'size' is not known");
}

}  // namespace
}  // namespace plumb
