// SPDX-License-Identifier: Apache-2.0
#include "frontend/llamacpp_format.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/byte_tokenizer.h"

namespace plumb {
namespace {

ChoiceDelta llamacpp_delta(std::int64_t index, const std::string& text, TokenId token) {
  return {index, text, {{.token = token, .bytes = text}}};
}

ChoiceEnd llamacpp_eos(std::int64_t index, std::int64_t num_tokens) {
  ChoiceEnd end;
  end.index = index;
  end.reason = FinishReason::kEos;
  end.usage = {.prompt_tokens = 3, .completion_tokens = num_tokens};
  end.last_token = TokenText{.token = 2};
  return end;
}

TEST(LlamaCppFormat, events_say_what_is_new_and_count) {
  const auto format = make_llamacpp_format({.stream = true}, 1);
  EXPECT_EQ(format->framing(), StreamFraming::kBareEvents);
  format->begin(0, {.prompt_tokens = 3, .completion_tokens = 1});  // the first token is there
  EXPECT_TRUE(format->start(0).empty());
  const auto shown = [](const Json& event) {
    return to_text(*event.find("content")) + to_text(*event.find("tokens")) +
           to_text(*event.find("stop")) + to_text(*event.find("tokens_predicted")) + "/" +
           to_text(*event.find("tokens_evaluated"));
  };
  EXPECT_EQ(shown(format->delta(llamacpp_delta(0, "x", 5)).at(0)), R"("x"[5]false1/3)");
  EXPECT_EQ(shown(format->delta(llamacpp_delta(0, "y", 6)).at(0)), R"("y"[6]false2/3)");
  EXPECT_EQ(shown(format->end(llamacpp_eos(0, 3)).at(0)), R"(""[]true3/3)");
  EXPECT_TRUE(format->finish({}).empty());
}

// Whatever the pieces of the answers and their order, together they are what is answered as a
// whole.
TEST(LlamaCppFormat, the_contents_of_a_stream_are_the_whole_content) {
  Rng rng(17);
  for (int round = 0; round < 50; ++round) {
    const auto num_answers = static_cast<std::size_t>(1 + rng.below(3));
    const auto stream = make_llamacpp_format({.stream = true}, num_answers);
    const auto whole = make_llamacpp_format({.return_tokens = true}, num_answers);
    std::vector<ChoiceRecord> records(num_answers);
    std::vector<std::string> contents(num_answers);
    std::vector<JsonArray> tokens(num_answers);
    const auto take = [&](const Json& event) {
      const auto index = static_cast<std::size_t>(event.find("index")->as_int());
      contents[index] += event.find("content")->as_string();
      const JsonArray& more = event.find("tokens")->as_array();
      tokens[index].insert(tokens[index].end(), more.begin(), more.end());
    };
    for (std::int64_t i = rng.below(20); i > 0; --i) {
      const std::int64_t index = rng.below(std::ssize(records));
      const std::string text(static_cast<std::size_t>(rng.below(4)),
                             static_cast<char>('a' + rng.below(26)));
      const ChoiceDelta delta = llamacpp_delta(index, text, static_cast<TokenId>(rng.below(100)));
      for (const Json& event : stream->delta(delta)) {
        take(event);
      }
      records[static_cast<std::size_t>(index)].append(delta);
    }
    for (std::size_t i = 0; i < num_answers; ++i) {
      const ChoiceEnd end = llamacpp_eos(static_cast<std::int64_t>(i), 1);
      records[i].end = end;
      for (const Json& event : stream->end(end)) {
        take(event);
      }
    }
    const Json answer = whole->complete(records);
    EXPECT_EQ(answer.is_array(), num_answers > 1);
    for (std::size_t i = 0; i < num_answers; ++i) {
      const Json& one = num_answers > 1 ? answer.as_array()[i] : answer;
      EXPECT_EQ(*one.find("content"), Json(contents[i]));
      EXPECT_EQ(*one.find("tokens"), Json(tokens[i]));
    }
  }
}

TEST(LlamaCppFormat, the_bias_of_a_text_is_that_of_its_tokens) {
  const std::unique_ptr<Tokenizer> tokenizer = make_byte_tokenizer();
  const std::vector<TokenId> ids = tokenizer->encode("ab", {false, false});
  ASSERT_EQ(ids.size(), 2U);
  LlamaCppRequest request;
  request.text_biases = {{"ab", 1.5F}, {"b", std::nullopt}};
  EXPECT_FALSE(resolve_text_biases(*tokenizer, {}, &request).has_value());
  const GenerationParams& params = request.completion.generation;
  EXPECT_EQ(params.sampling.logit_bias,
            (std::vector<std::pair<TokenId, float>>{{ids[0], 1.5F}, {ids[1], 1.5F}}));
  ASSERT_EQ(params.bad_words.size(), 1U);
  EXPECT_EQ(std::get<std::vector<TokenId>>(params.bad_words[0]), (std::vector<TokenId>{ids[1]}));
  ApiLimits limits;
  limits.max_logit_bias = 5;
  const std::optional<ApiError> error = resolve_text_biases(*tokenizer, limits, &request);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->param, "logit_bias");
}

TEST(LlamaCppFormat, the_computed_token_of_an_empty_answer_is_not_shown) {
  const auto format = make_llamacpp_format({.stream = true, .is_empty = true}, 1);
  EXPECT_TRUE(format->delta(llamacpp_delta(0, "x", 5)).empty());
  const Json last = format->end(llamacpp_eos(0, 1)).at(0);
  EXPECT_EQ(*last.find("tokens_predicted"), Json(0));
  EXPECT_EQ(*last.find("stop_type"), Json("limit"));
}

}  // namespace
}  // namespace plumb
