// SPDX-License-Identifier: Apache-2.0
#include "api/llamacpp_response.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using std::chrono::milliseconds;

ChoiceEnd llamacpp_end(FinishReason reason) {
  const std::chrono::steady_clock::time_point begin{milliseconds(1000)};
  ChoiceEnd end;
  end.reason = reason;
  end.usage = {.prompt_tokens = 5, .completion_tokens = 4, .cached_tokens = 1};
  end.timings.submitted = begin;
  end.timings.scheduled = begin + milliseconds(250);
  end.timings.first_token = begin + milliseconds(750);
  end.timings.last_token = begin + milliseconds(1750);
  return end;
}

LlamaCppPiece a_piece() {
  return {2,
          "ab",
          {{.token = 7, .bytes = "a", .logprob = -0.5F, .top = {{.token = 9, .bytes = "\xff"}}},
           {.token = 8, .bytes = "b", .logprob = -0.25F}}};
}

std::string type_of(const ChoiceEnd& end, bool is_empty = false) {
  const Json last = llamacpp_last({.is_empty = is_empty}, {}, end);
  return to_text(*last.find("stop_type")) + to_text(*last.find("stopping_word"));
}

TEST(LlamaCppResponse, a_part_has_what_is_new) {
  EXPECT_EQ(to_text(llamacpp_part({}, a_piece(), {.prompt_tokens = 5, .completion_tokens = 3})),
            R"({"index":2,"content":"ab","tokens":[7,8],"stop":false,"tokens_predicted":3,)"
            R"("tokens_evaluated":5})");
}

TEST(LlamaCppResponse, the_whole_answer_tells_how_it_came_about) {
  LlamaCppSetup setup{.model = "m", .settings = {{"seed", 3}}, .return_tokens = true};
  const ChoiceEnd end = llamacpp_end(FinishReason::kLength);
  EXPECT_EQ(
      to_text(llamacpp_last(setup, a_piece(), end)),
      R"({"index":2,"content":"ab","tokens":[7,8],"stop":true,"model":"m","tokens_predicted":4,)"
      R"("tokens_evaluated":5,"generation_settings":{"seed":3},"truncated":false,)"
      R"("stop_type":"limit","stopping_word":"","tokens_cached":1,"timings":{"cache_n":1,)"
      R"("prompt_n":4,"prompt_ms":500.0,"prompt_per_token_ms":125.0,"prompt_per_second":8.0,)"
      R"("predicted_n":4,"predicted_ms":1000.0,"predicted_per_token_ms":250.0,)"
      R"("predicted_per_second":4.0}})");
  setup.return_tokens = false;
  EXPECT_EQ(to_text(*llamacpp_last(setup, a_piece(), end).find("tokens")), "[]");
}

TEST(LlamaCppResponse, rates_of_no_time_are_zero) {
  ChoiceEnd end;
  end.usage = {.prompt_tokens = 2, .completion_tokens = 1, .cached_tokens = 2};
  EXPECT_EQ(to_text(*llamacpp_last({}, {}, end).find("timings")),
            R"({"cache_n":2,"prompt_n":0,"prompt_ms":0.0,"prompt_per_token_ms":0.0,)"
            R"("prompt_per_second":0.0,"predicted_n":1,"predicted_ms":0.0,)"
            R"("predicted_per_token_ms":0.0,"predicted_per_second":0.0})");
}

TEST(LlamaCppResponse, ends_have_types) {
  EXPECT_EQ(type_of(llamacpp_end(FinishReason::kEos)), R"("eos""")");
  EXPECT_EQ(type_of(llamacpp_end(FinishReason::kComplete)), R"("eos""")");
  EXPECT_EQ(type_of(llamacpp_end(FinishReason::kLength)), R"("limit""")");
  ChoiceEnd word = llamacpp_end(FinishReason::kStop);
  word.matched_stop = "END";
  EXPECT_EQ(type_of(word), R"("word""END")");
  EXPECT_EQ(type_of(word, true), R"("limit""")");
}

TEST(LlamaCppResponse, probabilities_are_told_once) {
  const std::string probs =
      R"([{"id":7,"token":"a","bytes":[97],"logprob":-0.5,"top_logprobs":[{"id":9,"token":"\\xff",)"
      R"("bytes":[255],"logprob":0.0}]},)"
      R"({"id":8,"token":"b","bytes":[98],"logprob":-0.25,"top_logprobs":[]}])";
  const ChoiceEnd end = llamacpp_end(FinishReason::kEos);
  LlamaCppSetup setup{.include_probs = true};
  EXPECT_EQ(to_text(*llamacpp_last(setup, a_piece(), end).find("completion_probabilities")), probs);
  EXPECT_EQ(to_text(*llamacpp_part(setup, a_piece(), {}).find("completion_probabilities")), probs);
  setup.stream = true;
  EXPECT_EQ(llamacpp_last(setup, {}, end).find("completion_probabilities"), nullptr);
}

TEST(LlamaCppResponse, the_settings_are_those_that_took_effect) {
  LlamaCppRequest request;
  GenerationParams& params = request.completion.generation;
  params.sampling.seed = 11;
  params.sampling.temperature = 0.5;
  params.sampling.top_k = 40;
  params.sampling.logit_bias = {{3, 1.5F}};
  params.stops = {"x"};
  EXPECT_EQ(to_text(llamacpp_settings(request)),
            R"({"n_predict":-1,"seed":11,"temperature":0.5,"top_k":40,"top_p":1.0,"min_p":0.0,)"
            R"("repeat_penalty":1.0,"repeat_last_n":-1,"presence_penalty":0.0,)"
            R"("frequency_penalty":0.0,"stop":["x"],"ignore_eos":false,"stream":false,"n_probs":0,)"
            R"("logit_bias":[{"token":3,"bias":1.5}],"grammar":""})");
  params.sampling.max_tokens = 1;
  EXPECT_EQ(*llamacpp_settings(request).find("n_predict"), Json(1));
  request.is_empty = true;
  EXPECT_EQ(*llamacpp_settings(request).find("n_predict"), Json(0));
}

}  // namespace
}  // namespace plumb
