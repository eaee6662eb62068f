// SPDX-License-Identifier: Apache-2.0
#include "server/request_trace.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "support/fake_clock.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

constexpr const char* kCallerTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kParent = "00f067aa0ba902b7";

using Values = std::map<std::string, std::variant<std::string, std::int64_t, double>>;

Values values_of(const Span& span) {
  Values values;
  for (const SpanAttribute& attribute : span.attributes) {
    EXPECT_TRUE(values.emplace(attribute.key, attribute.value).second) << attribute.key;
  }
  return values;
}

/// A request received an hour after the clock's start, which is 1970.
class RequestTraceTest : public testing::Test {
 protected:
  RequestTrace begin(std::int64_t choices_per_prompt = 1) {
    TracedRequest request{"req_7", "tiny", 0.5, 0.25, 9, 2, choices_per_prompt};
    return RequestTrace({kCallerTrace, kParent, true}, request, received_, clock_);
  }

  // Submitted after 1 ms, computed from 3 ms, first token at 8 ms, last token at 20 ms.
  ChoiceEnd end(std::int64_t index) const {
    ChoiceEnd end;
    end.index = index;
    end.reason = FinishReason::kLength;
    end.usage = {5, 4, 0};
    end.timings.submitted = received_ + 1ms;
    end.timings.scheduled = received_ + 3ms;
    end.timings.first_token = received_ + 8ms;
    end.timings.last_token = received_ + 20ms;
    return end;
  }

  FakeClock clock_;
  Clock::TimePoint received_ = clock_.now();
};

TEST_F(RequestTraceTest, the_root_has_the_callers_trace_and_all_attributes) {
  RequestTrace trace = begin();
  trace.on_first_token(received_ + 9ms);
  trace.on_end(end(0));
  const std::vector<Span> spans = trace.finish(200, received_ + 21ms);
  const Span& root = spans.front();
  EXPECT_EQ(root.name, "llm_request");
  EXPECT_EQ(root.kind, SpanKind::kServer);
  EXPECT_EQ(root.trace_id, kCallerTrace);
  EXPECT_EQ(root.parent_span_id, kParent);
  EXPECT_EQ(root.span_id.size(), 16U);
  EXPECT_EQ(root.start_ns, 3'600'000'000'000);
  EXPECT_EQ(root.end_ns, 3'600'021'000'000);
  EXPECT_FALSE(root.is_error);
  const Values expected{{"gen_ai.request.id", "req_7"},
                        {"gen_ai.request.model", "tiny"},
                        {"gen_ai.request.temperature", 0.5},
                        {"gen_ai.request.top_p", 0.25},
                        {"gen_ai.request.max_tokens", std::int64_t{9}},
                        {"gen_ai.request.n", std::int64_t{2}},
                        {"http.response.status_code", std::int64_t{200}},
                        {"gen_ai.usage.prompt_tokens", std::int64_t{5}},
                        {"gen_ai.usage.completion_tokens", std::int64_t{4}},
                        {"gen_ai.latency.time_to_first_token", 0.009},
                        {"gen_ai.latency.time_in_queue", 0.002},
                        {"gen_ai.latency.time_in_model_prefill", 0.005},
                        {"gen_ai.latency.time_in_model_decode", 0.012},
                        {"gen_ai.latency.time_in_model_inference", 0.017},
                        {"gen_ai.latency.e2e", 0.021}};
  EXPECT_EQ(values_of(root), expected);
}

TEST_F(RequestTraceTest, each_choice_has_its_phases_as_children) {
  RequestTrace trace = begin();
  ChoiceEnd first = end(0);
  first.timings.phases = {{Phase::Kind::kPrefill, received_ + 3ms, received_ + 5ms, 3},
                          {Phase::Kind::kRetracted, received_ + 5ms, received_ + 6ms, 0},
                          {Phase::Kind::kPrefill, received_ + 6ms, received_ + 8ms, 2}};
  trace.on_end(first);
  trace.on_end(end(1));
  const std::vector<Span> spans = trace.finish(200, received_ + 21ms);

  struct Row {
    const char* name;
    std::int64_t choice;
    std::int64_t start_ms;
    std::int64_t end_ms;
    std::int64_t num_tokens;
  };

  const std::vector<Row> rows{{"queue", 0, 1, 3, 0},      {"prefill", 0, 3, 5, 3},
                              {"retraction", 0, 5, 6, 0}, {"prefill", 0, 6, 8, 2},
                              {"decode", 0, 8, 20, 4},    {"queue", 1, 1, 3, 0},
                              {"decode", 1, 8, 20, 4}};
  ASSERT_EQ(spans.size(), rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Span& span = spans[i + 1];
    EXPECT_EQ(span.name, rows[i].name);
    EXPECT_EQ(span.trace_id, kCallerTrace);
    EXPECT_EQ(span.parent_span_id, spans.front().span_id);
    EXPECT_EQ(span.kind, SpanKind::kInternal);
    EXPECT_EQ(span.start_ns, 3'600'000'000'000 + rows[i].start_ms * 1'000'000) << i;
    EXPECT_EQ(span.end_ns, 3'600'000'000'000 + rows[i].end_ms * 1'000'000) << i;
    Values expected{{"plumb.choice", rows[i].choice}};
    if (rows[i].num_tokens > 0) {
      expected["plumb.num_tokens"] = rows[i].num_tokens;
    }
    EXPECT_EQ(values_of(span), expected) << i;
  }
  std::vector<std::string> ids;
  for (const Span& span : spans) {
    ids.push_back(span.span_id);
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST_F(RequestTraceTest, the_prompt_of_several_choices_counts_once) {
  RequestTrace trace = begin(2);
  for (std::int64_t i = 0; i < 4; ++i) {  // two prompts, two choices each
    trace.on_end(end(i));
  }
  const Values values = values_of(trace.finish(200, received_ + 21ms).front());
  EXPECT_EQ(std::get<std::int64_t>(values.at("gen_ai.usage.prompt_tokens")), 10);
  EXPECT_EQ(std::get<std::int64_t>(values.at("gen_ai.usage.completion_tokens")), 16);
}

TEST_F(RequestTraceTest, a_refused_request_is_an_error_without_usage) {
  const std::vector<Span> spans = begin().finish(503, received_ + 1ms);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_TRUE(spans.front().is_error);
  const Values values = values_of(spans.front());
  EXPECT_EQ(std::get<std::string>(values.at("error.type")), "503");
  EXPECT_FALSE(values.contains("gen_ai.usage.prompt_tokens"));
  EXPECT_FALSE(values.contains("gen_ai.latency.time_in_queue"));
  EXPECT_FALSE(begin().finish(499, received_).front().is_error);  // the client's doing
}

TEST_F(RequestTraceTest, very_many_phases_are_cut_and_said_so) {
  RequestTrace trace = begin(64);
  for (std::int64_t i = 0; i < 64; ++i) {
    ChoiceEnd one = end(i);
    one.timings.phases.resize(100, {Phase::Kind::kPrefill, received_, received_ + 1ms, 1});
    trace.on_end(one);
  }
  const std::vector<Span> spans = trace.finish(200, received_ + 21ms);
  EXPECT_EQ(spans.size(), 1025U);
  const Values values = values_of(spans.front());
  EXPECT_EQ(std::get<std::int64_t>(values.at("plumb.omitted_spans")), 64 * 102 - 1024);
}

}  // namespace
}  // namespace plumb
