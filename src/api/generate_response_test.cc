// SPDX-License-Identifier: Apache-2.0
#include "api/generate_response.h"

#include <gtest/gtest.h>

#include "base/rng.h"

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

// Bytes that need escapes, that are several, and that are no text alone.
constexpr const char* kPieces[] = {
    "", "a", "\"", "\\", "\n", "\x01", "\xC3\xA9", "\xE2\x80\xA8", "\xF0\x9F\x98\x80"};

class RandomAnswer {
 public:
  explicit RandomAnswer(std::uint64_t seed) : rng_(seed) {}

  std::size_t below(std::int64_t limit) { return static_cast<std::size_t>(rng_.below(limit)); }

  bool coin() { return below(2) == 0; }

  std::string text() { return kPieces[below(std::ssize(kPieces))]; }

  TokenText token(std::size_t num_top) {
    TokenText out{.token = static_cast<TokenId>(below(100000)),
                  .bytes = coin() ? "\xFF" : text(),
                  .logprob = -0.37F * static_cast<float>(below(50))};
    for (std::size_t i = 0; i < num_top; ++i) {
      out.top.push_back(token(0));
    }
    return out;
  }

  std::vector<TokenText> tokens(std::size_t count) {
    std::vector<TokenText> out;
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(token(below(4)));
    }
    return out;
  }

  GenerateSetup setup() {
    GenerateSetup out{.rid = text(), .prompt_tokens = 3};
    out.include_logprobs = coin();
    out.include_top = coin();
    out.text_in_logprobs = coin();
    if (coin()) {
      out.logprob_start = static_cast<std::int64_t>(below(4));
    }
    out.is_empty = below(4) == 0;
    return out;
  }

 private:
  Rng rng_;
};

TEST(GenerateText, what_was_added_piece_by_piece_is_the_text_of_the_whole_object) {
  const ChoiceEnd end = native_end(FinishReason::kLength);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomAnswer random(seed);
    const GenerateSetup setup = random.setup();
    GenerateText grown(setup);
    GenerateOutput whole;
    if (random.coin()) {
      whole.prompt = random.tokens(random.below(4));
      grown.add_prompt(whole.prompt);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      const std::string text = random.text() + random.text();
      const std::vector<TokenText> tokens = random.tokens(random.below(3));
      grown.add(text, tokens);
      whole.text += text;
      whole.tokens.insert(whole.tokens.end(), tokens.begin(), tokens.end());
      whole.num_tokens += std::ssize(tokens);
      const ChoiceEnd* last = i == 5 ? &end : nullptr;
      Json expected = generate_object(setup, whole, last, 0.25);
      EXPECT_EQ(grown.object(whole.num_tokens, last, 0.25, std::nullopt), to_text(expected))
          << seed;
      expected.as_object().append("index", 4);
      EXPECT_EQ(grown.object(whole.num_tokens, last, 0.25, 4), to_text(expected)) << seed;
    }
  }
}

}  // namespace
}  // namespace plumb
