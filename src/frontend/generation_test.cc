// SPDX-License-Identifier: Apache-2.0
#include "frontend/generation.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>

#include "engine/engine_test_scene.h"
#include "support/byte_tokenizer.h"

namespace plumb {
namespace {

// What the listener heard, and what it does on the way.
class Recorder final : public GenerationListener {
 public:
  void on_begin(std::int64_t index, const Usage& prompt) override {
    EXPECT_EQ(texts[static_cast<std::size_t>(index)], "");
    begun.emplace_back(index, prompt.prompt_tokens);
    num_cached = prompt.cached_tokens;
  }

  void on_prompt(std::int64_t, std::vector<TokenText> tokens) override {
    num_prompt_tokens += tokens.size();
  }

  void on_delta(ChoiceDelta delta) override {
    ++num_deltas;
    texts[static_cast<std::size_t>(delta.index)] += delta.text;
    append_delta(delta, &parts);
    if (during_delta) {
      during_delta();
    }
  }

  void on_end(ChoiceEnd end) override { ends.push_back(std::move(end)); }

  void on_error(Status status) override { errors.push_back(std::move(status)); }

  std::vector<std::string> texts = std::vector<std::string>(4);
  std::vector<AnswerPart> parts;  // of a single choice
  std::vector<ChoiceEnd> ends;
  std::vector<Status> errors;
  std::vector<std::pair<std::int64_t, std::int64_t>> begun;  // choices and their prompts' tokens
  std::int64_t num_cached = -1;
  std::size_t num_prompt_tokens = 0;
  int num_deltas = 0;
  std::function<void()> during_delta;
};

// An engine that says a fixed text after a prompt of one token, then its end token (0).
class Generations : public testing::Test {
 protected:
  Generations() {
    ScriptedModel::Options model;
    model.vocab_size = 257;
    model.script = [this](std::span<const TokenId> context, std::span<float> logits) {
      const std::size_t at = context.size() - 1;
      const std::size_t next = at < says_.size() ? static_cast<unsigned char>(says_[at]) : 0;
      std::fill(logits.begin(), logits.end(), 0.0F);
      logits[next] = 10.0F;
    };
    EngineOptions options = EngineScene::small_options();
    options.max_num_seqs = 2;
    options.max_queued_requests = 2;
    scene_ = std::make_unique<EngineScene>(options, model);
  }

  std::shared_ptr<Generation> make() {
    return Generation::create(*scene_->engine, *tokenizer_, recorder_,
                              [this](std::function<void()> event) {
                                ++num_posted_;
                                events_.push_back(std::move(event));
                              });
  }

  static std::vector<ChoiceRequest> choices(std::size_t count, std::int64_t max_tokens = 40) {
    std::vector<ChoiceRequest> out(count);
    for (ChoiceRequest& choice : out) {
      choice.request.prompt = {'p'};
      choice.request.sampling.temperature = 0;
      choice.request.sampling.max_tokens = max_tokens;
    }
    return out;
  }

  // One step of the engine and everything that follows from it.
  void step() {
    scene_->engine->step();
    while (!events_.empty()) {
      const std::function<void()> event = std::move(events_.front());
      events_.pop_front();
      event();
    }
  }

  void run() {
    for (int i = 0; i < 200; ++i) {
      step();
    }
  }

  void expect_all_free() {
    EXPECT_EQ(scene_->engine->stats().num_running, 0);
    EXPECT_EQ(scene_->engine->stats().num_waiting, 0);
    EXPECT_EQ(scene_->engine->stats().num_used_blocks(), 0);
    EXPECT_TRUE(scene_->engine->check_invariants().ok());
  }

  std::string says_ = "the quick brown fox";
  std::unique_ptr<Tokenizer> tokenizer_ = make_byte_tokenizer();
  std::deque<std::function<void()>> events_;
  Recorder recorder_;
  int num_posted_ = 0;
  std::unique_ptr<EngineScene> scene_;
};

TEST_F(Generations, every_choice_is_told_to_its_end_with_its_usage) {
  const auto generation = make();
  ASSERT_TRUE(generation->start(choices(2)).ok());
  run();
  ASSERT_EQ(recorder_.ends.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(recorder_.texts[i], says_);
    EXPECT_EQ(recorder_.ends[i].reason, FinishReason::kEos);
    EXPECT_EQ(recorder_.ends[i].usage.prompt_tokens, 1);
    EXPECT_EQ(recorder_.ends[i].usage.completion_tokens,
              static_cast<std::int64_t>(says_.size()) + 1);
  }
  EXPECT_TRUE(recorder_.errors.empty());
  expect_all_free();
}

TEST_F(Generations, a_stop_string_ends_the_sequence_within_a_step) {
  const auto generation = make();
  std::vector<ChoiceRequest> wanted = choices(1);
  wanted[0].text.stops = {"brown"};
  ASSERT_TRUE(generation->start(std::move(wanted)).ok());
  run();
  ASSERT_EQ(recorder_.ends.size(), 1U);
  EXPECT_EQ(recorder_.texts[0], "the quick ");
  EXPECT_EQ(recorder_.ends[0].reason, FinishReason::kStop);
  EXPECT_EQ(recorder_.ends[0].matched_stop, "brown");
  EXPECT_EQ(recorder_.ends[0].usage.completion_tokens, 15);
  EXPECT_LE(scene_->engine->stats().completion_tokens, 17);
  expect_all_free();
}

TEST_F(Generations, a_stop_expression_that_takes_too_long_fails_the_request_alone) {
  says_ = std::string(60, 'a') + "c";
  const auto generation = make();
  std::vector<ChoiceRequest> wanted = choices(1, 80);
  wanted[0].text.stop_regex = StopRegex::compile({"(a+)+b"}).value();
  ASSERT_TRUE(generation->start(std::move(wanted)).ok());
  run();
  ASSERT_EQ(recorder_.errors.size(), 1U);
  EXPECT_EQ(recorder_.errors[0].code(), Code::kInvalidArgument);
  EXPECT_TRUE(recorder_.ends.empty());
  expect_all_free();
}

TEST_F(Generations, a_stream_interval_gathers_tokens_after_the_first) {
  const auto generation = make();
  std::vector<ChoiceRequest> wanted = choices(1);
  wanted[0].stream_interval = 8;
  ASSERT_TRUE(generation->start(std::move(wanted)).ok());
  run();
  EXPECT_EQ(recorder_.texts[0], says_);
  EXPECT_EQ(recorder_.num_deltas, 4);  // 1 + 8 + 8 of 19, and the last 2
}

TEST_F(Generations, after_cancel_neither_listener_nor_executor_hear_anything) {
  const auto generation = make();
  ASSERT_TRUE(generation->start(choices(2)).ok());
  step();
  step();
  scene_->engine->step();  // its events wait when cancel comes
  const std::string heard = recorder_.texts[0];
  generation->cancel();
  const int posted = num_posted_;
  run();
  EXPECT_EQ(num_posted_, posted);
  EXPECT_EQ(recorder_.texts[0], heard);
  EXPECT_TRUE(recorder_.ends.empty());
  EXPECT_TRUE(recorder_.errors.empty());
  EXPECT_EQ(scene_->engine->stats().num_aborted, 2);
  expect_all_free();
}

TEST_F(Generations, a_listener_may_cancel_from_within_a_call) {
  const auto generation = make();
  int num_deltas = 0;
  recorder_.during_delta = [&] {
    ++num_deltas;
    generation->cancel();
  };
  says_ = "x";
  ASSERT_TRUE(generation->start(choices(2, 1)).ok());  // the delta comes with the end
  run();
  EXPECT_EQ(num_deltas, 1);
  EXPECT_TRUE(recorder_.ends.empty());
  expect_all_free();
}

TEST_F(Generations, a_refused_choice_takes_the_others_with_it) {
  const auto generation = make();
  std::vector<ChoiceRequest> wanted = choices(3);
  wanted[2].request.prompt = {9999};
  EXPECT_EQ(generation->start(std::move(wanted)).code(), Code::kInvalidArgument);
  run();
  EXPECT_EQ(num_posted_, 0);
  EXPECT_TRUE(recorder_.ends.empty());
  expect_all_free();
}

TEST_F(Generations, a_full_queue_refuses_the_whole) {
  const auto generation = make();
  EXPECT_EQ(generation->start(choices(5)).code(), Code::kResourceExhausted);
  run();
  EXPECT_EQ(num_posted_, 0);
  expect_all_free();
}

TEST_F(Generations, a_choice_that_fails_is_one_error_and_the_end_of_the_rest) {
  const auto generation = make();
  std::vector<ChoiceRequest> wanted = choices(2);
  wanted[0].request.timeout = std::chrono::milliseconds(10);
  ASSERT_TRUE(generation->start(std::move(wanted)).ok());
  step();
  step();
  scene_->clock.advance(std::chrono::seconds(1));
  run();
  ASSERT_EQ(recorder_.errors.size(), 1U);
  EXPECT_EQ(recorder_.errors[0].code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(recorder_.ends.empty());
  expect_all_free();
}

TEST_F(Generations, prompt_logprobs_come_when_asked_for) {
  const auto generation = make();
  std::vector<ChoiceRequest> wanted = choices(1, 2);
  wanted[0].request.prompt = {'p', 'q', 'r'};
  wanted[0].request.sampling.logprobs = true;
  wanted[0].request.sampling.prompt_logprobs = true;
  ASSERT_TRUE(generation->start(std::move(wanted)).ok());
  run();
  EXPECT_EQ(recorder_.num_prompt_tokens, 3U);
  EXPECT_EQ(recorder_.ends.size(), 1U);
}

TEST_F(Generations, a_choice_begins_once_with_what_the_cache_held_of_its_prompt) {
  const auto ask = [this] {
    recorder_ = Recorder();
    std::vector<ChoiceRequest> wanted = choices(1, 3);
    wanted[0].request.prompt = {'p', 'q', 'r'};
    const auto generation = make();
    ASSERT_TRUE(generation->start(std::move(wanted)).ok());
    run();
  };
  ask();
  EXPECT_EQ(recorder_.begun, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}}));
  EXPECT_EQ(recorder_.num_cached, 0);
  ask();
  EXPECT_EQ(recorder_.num_cached, 2);
  ASSERT_EQ(recorder_.ends.size(), 1U);
  EXPECT_EQ(recorder_.ends[0].usage.cached_tokens, 2);
}

constexpr const char* kTwoCalls =
    R"(<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call><tool_call>{"name": "g", "arguments": {"b": "x"}}</tool_call>)";

OutputOptions hermes() {
  OutputOptions output;
  output.format.tools = find_tool_format("hermes");
  return output;
}

TEST_F(Generations, an_answer_with_a_complete_call_ends_with_tool_calls) {
  says_ = kTwoCalls;
  std::vector<ChoiceRequest> wanted = choices(1, 200);
  wanted[0].text.output = hermes();
  ASSERT_TRUE(make()->start(std::move(wanted)).ok());
  run();
  ASSERT_EQ(recorder_.ends.size(), 1U);
  EXPECT_EQ(recorder_.ends[0].reason, FinishReason::kToolCalls);
  ASSERT_EQ(recorder_.parts.size(), 2U);
  EXPECT_EQ(recorder_.parts[0].text, R"({"a": 1})");
  EXPECT_EQ(recorder_.parts[1].name, "g");
  EXPECT_EQ(recorder_.texts[0], "");
  expect_all_free();
}

TEST_F(Generations, a_call_that_is_cut_off_leaves_the_reason_length) {
  says_ = kTwoCalls;
  std::vector<ChoiceRequest> wanted = choices(1, 40);
  wanted[0].text.output = hermes();
  ASSERT_TRUE(make()->start(std::move(wanted)).ok());
  run();
  ASSERT_EQ(recorder_.ends.size(), 1U);
  EXPECT_EQ(recorder_.ends[0].reason, FinishReason::kLength);
  ASSERT_EQ(recorder_.parts.size(), 1U);
  EXPECT_EQ(recorder_.parts[0].text, "{}");
  EXPECT_EQ(recorder_.ends[0].malformed_call, R"(<tool_call>{"name": "f", "arguments": {")");
}

TEST_F(Generations, a_sequence_ends_within_a_step_of_the_only_call_that_is_wanted) {
  says_ = kTwoCalls;
  std::vector<ChoiceRequest> wanted = choices(1, 200);
  wanted[0].text.output = hermes();
  wanted[0].text.output->max_calls = 1;
  const auto generation = make();
  ASSERT_TRUE(generation->start(std::move(wanted)).ok());
  run();
  ASSERT_EQ(recorder_.ends.size(), 1U);
  EXPECT_EQ(recorder_.ends[0].reason, FinishReason::kToolCalls);
  EXPECT_EQ(recorder_.parts.size(), 1U);
  EXPECT_EQ(recorder_.ends[0].usage.completion_tokens, 59);
  EXPECT_LE(scene_->engine->stats().completion_tokens, 61);
  expect_all_free();
}

}  // namespace
}  // namespace plumb
