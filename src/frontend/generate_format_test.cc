// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate_format.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace plumb {
namespace {

std::unique_ptr<ResponseFormat> make(const Clock& clock, bool is_batch, bool is_incremental,
                                     bool is_empty = false) {
  GenerateFormatOptions options;
  options.setups = {{.rid = "a", .is_empty = is_empty}, {.rid = "b"}};
  options.is_batch = is_batch;
  options.is_incremental = is_incremental;
  options.received = clock.now();
  return make_generate_format(std::move(options), clock);
}

ChoiceDelta piece(std::int64_t index, const char* text, TokenId token) {
  return {index, text, {{.token = token, .bytes = text}}};
}

ChoiceEnd eos(std::int64_t index, std::int64_t num_tokens) {
  ChoiceEnd end;
  end.index = index;
  end.reason = FinishReason::kEos;
  end.usage.completion_tokens = num_tokens;
  end.last_token = TokenText{.token = 2};
  return end;
}

// What a cumulative format tells next.
Json newest(ResponseFormat& format, std::int64_t index) {
  const Result<Json> event = parse_json(format.newest(index));
  EXPECT_TRUE(event.ok());
  return event.ok() ? event.value() : Json();
}

Json after(ResponseFormat& format, const ChoiceDelta& delta) {
  EXPECT_TRUE(format.delta(delta).empty());
  return newest(format, delta.index);
}

Json after(ResponseFormat& format, const ChoiceEnd& end) {
  EXPECT_TRUE(format.end(end).empty());
  return newest(format, end.index);
}

std::string shown(const Json& event) {
  const Json* index = event.find("index");
  return to_text(*event.find("text")) + to_text(*event.find("output_ids")) +
         to_text(*event.find("meta_info")->find("completion_tokens")) +
         (index == nullptr ? "" : "@" + to_text(*index));
}

TEST(GenerateFormat, events_hold_all_that_there_is) {
  FakeClock clock;
  const auto format = make(clock, false, false);
  EXPECT_TRUE(format->start(0).empty());
  EXPECT_EQ(shown(after(*format, piece(0, "x", 5))), "\"x\"[5]1");
  clock.advance(std::chrono::milliseconds(500));
  const Json second = after(*format, piece(0, "y", 6));
  EXPECT_EQ(shown(second), "\"xy\"[5,6]2");
  EXPECT_EQ(*second.find("meta_info")->find("e2e_latency"), Json(0.5));
  EXPECT_EQ(shown(after(*format, eos(0, 3))), "\"xy\"[5,6,2]3");
  EXPECT_TRUE(format->finish({}).empty());
}

TEST(GenerateFormat, an_event_may_tell_of_several_deltas) {
  const FakeClock clock;
  const auto format = make(clock, false, false);
  EXPECT_TRUE(format->is_cumulative());
  EXPECT_FALSE(make(clock, false, true)->is_cumulative());
  format->delta(piece(0, "x", 5));
  format->delta(piece(0, "y", 6));
  EXPECT_EQ(shown(newest(*format, 0)), "\"xy\"[5,6]2");
}

TEST(GenerateFormat, incremental_events_hold_what_is_new) {
  const FakeClock clock;
  const auto format = make(clock, false, true);
  EXPECT_EQ(shown(format->delta(piece(0, "x", 5)).at(0)), "\"x\"[5]1");
  EXPECT_EQ(shown(format->delta(piece(0, "y", 6)).at(0)), "\"y\"[6]2");
  EXPECT_EQ(shown(format->end(eos(0, 3)).at(0)), "\"\"[2]3");
}

TEST(GenerateFormat, tokens_that_a_stop_string_cut_off_come_with_the_end) {
  const FakeClock clock;
  ChoiceEnd end;
  end.reason = FinishReason::kStop;
  end.matched_stop = "END";
  end.usage.completion_tokens = 3;
  end.cut_tokens = {{.token = 7, .bytes = "EN"}, {.token = 8, .bytes = "D"}};
  for (const bool is_incremental : {false, true}) {
    const auto format = make(clock, false, is_incremental);
    format->delta(piece(0, "x", 5));
    const std::vector<Json> events = format->end(end);
    EXPECT_EQ(shown(is_incremental ? events.at(0) : newest(*format, 0)),
              is_incremental ? "\"\"[7,8]3" : "\"x\"[5,7,8]3");
  }
}

TEST(GenerateFormat, events_of_a_batch_have_an_index) {
  const FakeClock clock;
  const auto format = make(clock, true, false);
  EXPECT_EQ(shown(after(*format, piece(1, "x", 5))), "\"x\"[5]1@1");
  EXPECT_EQ(shown(after(*format, piece(0, "y", 6))), "\"y\"[6]1@0");
  EXPECT_EQ(shown(after(*format, eos(1, 2))), "\"x\"[5,2]2@1");
}

TEST(GenerateFormat, the_computed_token_of_an_empty_answer_is_not_shown) {
  const FakeClock clock;
  const auto format = make(clock, false, false, true);
  EXPECT_TRUE(format->delta(piece(0, "x", 5)).empty());
  EXPECT_EQ(format->newest(0), "");
  EXPECT_EQ(shown(after(*format, eos(0, 1))), "\"\"[]0");
}

TEST(GenerateFormat, a_whole_answer_is_an_object_or_an_array) {
  const FakeClock clock;
  ChoiceRecord choice;
  choice.parts = {{AnswerKind::kText, "x"}};
  choice.tokens = {{.token = 5, .bytes = "x"}};
  choice.end = eos(0, 2);
  EXPECT_EQ(shown(make(clock, false, false)->complete({choice})), "\"x\"[5,2]2");
  const Json both = make(clock, true, false)->complete({choice, choice});
  ASSERT_EQ(both.as_array().size(), 2U);
  EXPECT_EQ(*both.as_array()[1].find("meta_info")->find("id"), Json("b"));
}

}  // namespace
}  // namespace plumb
