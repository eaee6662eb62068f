// SPDX-License-Identifier: Apache-2.0
#include "server/trace_context.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kSpan = "00f067aa0ba902b7";

std::string parent(const std::string& version, const std::string& trace, const std::string& span,
                   const std::string& flags) {
  return version + "-" + trace + "-" + span + "-" + flags;
}

TEST(TraceContext, the_specifications_example_is_read) {
  const auto context = parse_traceparent(parent("00", kTrace, kSpan, "01"));
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->trace_id, kTrace);
  EXPECT_EQ(context->parent_span_id, kSpan);
  EXPECT_TRUE(context->is_sampled);
}

TEST(TraceContext, only_the_lowest_flag_says_sampled) {
  EXPECT_FALSE(parse_traceparent(parent("00", kTrace, kSpan, "00"))->is_sampled);
  EXPECT_FALSE(parse_traceparent(parent("00", kTrace, kSpan, "fe"))->is_sampled);
  EXPECT_TRUE(parse_traceparent(parent("00", kTrace, kSpan, "ff"))->is_sampled);
  EXPECT_TRUE(parse_traceparent(parent("00", kTrace, kSpan, "0b"))->is_sampled);
}

TEST(TraceContext, a_later_version_may_append_something) {
  EXPECT_TRUE(parse_traceparent(parent("cc", kTrace, kSpan, "01") + "-what-ever").has_value());
  EXPECT_TRUE(parse_traceparent(parent("01", kTrace, kSpan, "01")).has_value());
  EXPECT_FALSE(parse_traceparent(parent("cc", kTrace, kSpan, "01") + ".x").has_value());
  EXPECT_FALSE(parse_traceparent(parent("00", kTrace, kSpan, "01") + "-x").has_value());
}

TEST(TraceContext, what_breaks_the_specification_is_ignored) {
  const std::string good = parent("00", kTrace, kSpan, "01");
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(parse_traceparent(good.substr(0, length)).has_value()) << length;
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char bad : {'g', 'A', ' ', '\0', '_', '\xff'}) {
      std::string text = good;
      text[i] = bad;
      EXPECT_FALSE(parse_traceparent(text).has_value()) << text;
    }
  }
  EXPECT_FALSE(parse_traceparent(parent("ff", kTrace, kSpan, "01")).has_value());
  EXPECT_FALSE(parse_traceparent(parent("00", std::string(32, '0'), kSpan, "01")).has_value());
  EXPECT_FALSE(parse_traceparent(parent("00", kTrace, std::string(16, '0'), "01")).has_value());
}

TEST(TraceContext, without_one_good_header_a_new_trace_begins) {
  const std::string good = parent("00", kTrace, kSpan, "00");
  EXPECT_EQ(trace_context_of({{"TraceParent", good}}).trace_id, kTrace);
  for (const Headers& headers : {Headers{}, Headers{{"traceparent", "00-x"}},
                                 Headers{{"traceparent", good}, {"traceparent", good}}}) {
    const TraceContext context = trace_context_of(headers);
    EXPECT_EQ(context.trace_id.size(), 32U);
    EXPECT_NE(context.trace_id, kTrace);
    EXPECT_EQ(context.parent_span_id, "");
    EXPECT_TRUE(context.is_sampled);
    EXPECT_TRUE(parse_traceparent(parent("00", context.trace_id, kSpan, "01")).has_value());
  }
}

}  // namespace
}  // namespace plumb
