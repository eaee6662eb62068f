// SPDX-License-Identifier: Apache-2.0
#include "request/sampling_params.h"

#include <gtest/gtest.h>
#include <limits>

namespace plumb {
namespace {

TEST(SamplingParams, defaults_are_valid) {
  EXPECT_TRUE(validate(SamplingParams(), 100).ok());
}

TEST(SamplingParams, each_range_is_checked_and_the_message_names_the_field) {
  const auto message = [](auto change) {
    SamplingParams p;
    change(p);
    return validate(p, 100).message();
  };
  EXPECT_EQ(message([](auto& p) { p.top_p = 0; }).substr(0, 5), "top_p");
  EXPECT_EQ(message([](auto& p) { p.temperature = -1; }).substr(0, 11), "temperature");
  EXPECT_EQ(message([](auto& p) {
              p.temperature = std::numeric_limits<double>::quiet_NaN();
            }).substr(0, 11),
            "temperature");
  EXPECT_EQ(message([](auto& p) { p.min_p = 1.5; }).substr(0, 5), "min_p");
  EXPECT_EQ(message([](auto& p) { p.frequency_penalty = 3; }).substr(0, 9), "frequency");
  EXPECT_EQ(message([](auto& p) {
              p.logit_bias = {{100, 1.0F}};
            }),
            "logit_bias names token 100, expected 0 to 99");
  EXPECT_EQ(message([](auto& p) {
              p.bad_words = {{1}, {}};
            }),
            "bad_words holds an empty sequence, expected at least 1 token each");
  EXPECT_EQ(message([](auto& p) {
              p.bad_words = {{1, 100}};
            }),
            "bad_words names token 100, expected 0 to 99");
  EXPECT_EQ(message([](auto& p) { p.prompt_top_logprobs = 21; }),
            "prompt_logprobs is 21, expected 0 to 20");
  EXPECT_EQ(message([](auto& p) { p.max_tokens = 2, p.min_tokens = 3; }),
            "min_tokens is 3, expected at most max_tokens 2");
}

}  // namespace
}  // namespace plumb
