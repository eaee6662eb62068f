// SPDX-License-Identifier: Apache-2.0
#include "api/generate_response.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using std::chrono::milliseconds;

ChoiceEnd native_end(FinishReason reason) {
  const std::chrono::steady_clock::time_point begin{milliseconds(1000)};
  ChoiceEnd end;
  end.reason = reason;
  end.usage = {.prompt_tokens = 3, .completion_tokens = 2, .cached_tokens = 1};
  end.timings.submitted = begin;
  end.timings.scheduled = begin + milliseconds(250);
  end.timings.first_token = begin + milliseconds(750);
  return end;
}

GenerateOutput an_output() {
  GenerateOutput out;
  out.text = "ab";
  out.tokens = {{.token = 7, .bytes = "a", .logprob = -0.5F, .top = {{.token = 9, .bytes = "z"}}},
                {.token = 8, .bytes = "b", .logprob = -0.25F}};
  out.prompt = {{.token = 4, .bytes = "x"},
                {.token = 5, .bytes = "y", .logprob = -2.0F, .top = {{.token = 6, .bytes = "w"}}}};
  out.num_tokens = 2;
  return out;
}

std::string finish_of(const ChoiceEnd& end, bool is_empty = false) {
  const Json object = generate_object({.is_empty = is_empty}, an_output(), &end, 0);
  return to_text(*object.find("meta_info")->find("finish_reason"));
}

TEST(GenerateResponse, the_last_object_has_text_ids_and_what_is_known_of_them) {
  const ChoiceEnd end = native_end(FinishReason::kLength);
  EXPECT_EQ(
      to_text(generate_object({.rid = "r", .prompt_tokens = 3}, an_output(), &end, 1.5)),
      R"({"text":"ab","output_ids":[7,8],"meta_info":{"id":"r","finish_reason":)"
      R"({"type":"length","length":2},"prompt_tokens":3,"completion_tokens":2,)"
      R"("cached_tokens":1,"reasoning_tokens":0,"e2e_latency":1.5,"weight_version":"default",)"
      R"("queue_time":0.25,"prefill_time":0.5}})");
}

TEST(GenerateResponse, an_object_before_the_last_one_has_no_reason) {
  EXPECT_EQ(
      to_text(generate_object({.rid = "r", .prompt_tokens = 3}, an_output(), nullptr, 0.5)),
      R"({"text":"ab","output_ids":[7,8],"meta_info":{"id":"r","finish_reason":null,)"
      R"("prompt_tokens":3,"completion_tokens":2,"e2e_latency":0.5,"weight_version":"default"}})");
}

TEST(GenerateResponse, reasons_say_what_matched) {
  ChoiceEnd end = native_end(FinishReason::kStop);
  end.matched_stop = "END";
  EXPECT_EQ(finish_of(end), R"({"type":"stop","matched":"END"})");
  end = native_end(FinishReason::kEos);
  end.last_token = TokenText{.token = 2};
  EXPECT_EQ(finish_of(end), R"({"type":"stop","matched":2})");
  end = native_end(FinishReason::kStop);
  end.matched_token = 11;
  EXPECT_EQ(finish_of(end), R"({"type":"stop","matched":11})");
  EXPECT_EQ(finish_of(native_end(FinishReason::kComplete)), R"({"type":"stop","matched":null})");
  EXPECT_EQ(finish_of(native_end(FinishReason::kEos), true), R"({"type":"length","length":0})");
}

TEST(GenerateResponse, log_probabilities_are_triples) {
  const auto meta = [](std::optional<std::int64_t> start, bool with_text) {
    const Json object = generate_object({.include_logprobs = true,
                                         .include_top = true,
                                         .text_in_logprobs = with_text,
                                         .logprob_start = start},
                                        an_output(), nullptr, 0);
    return *object.find("meta_info");
  };
  const Json whole = meta(0, true);
  EXPECT_EQ(to_text(*whole.find("input_token_logprobs")), R"([[null,4,"x"],[-2.0,5,"y"]])");
  EXPECT_EQ(to_text(*whole.find("input_top_logprobs")), R"([null,[[0.0,6,"w"]]])");
  EXPECT_EQ(to_text(*whole.find("output_token_logprobs")), R"([[-0.5,7,"a"],[-0.25,8,"b"]])");
  EXPECT_EQ(to_text(*whole.find("output_top_logprobs")), R"([[[0.0,9,"z"]],[]])");
  const Json tail = meta(1, false);
  EXPECT_EQ(to_text(*tail.find("input_token_logprobs")), R"([[-2.0,5,null]])");
  EXPECT_EQ(to_text(*tail.find("output_token_logprobs")), R"([[-0.5,7,null],[-0.25,8,null]])");
  EXPECT_EQ(to_text(*meta(std::nullopt, false).find("input_token_logprobs")), "[]");
  EXPECT_EQ(to_text(*meta(99, false).find("input_token_logprobs")), "[]");
}

}  // namespace
}  // namespace plumb
