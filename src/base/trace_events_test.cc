// SPDX-License-Identifier: Apache-2.0
#include "base/trace_events.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(TraceEventsTest, a_document_has_its_tracks_and_slices_in_microseconds) {
  TraceEvents events;
  events.add_track(2, "device");
  events.add_slice("linear \"q\"", 2, Clock::TimePoint(microseconds(1000)), nanoseconds(2500),
                   {{"rows", 8}});
  const Json trace = parse_json(events.finish({{"num_steps", 1}})).value();
  const JsonArray& all = trace.find("traceEvents")->as_array();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].find("ph")->as_string(), "M");
  EXPECT_EQ(all[0].find("name")->as_string(), "thread_name");
  EXPECT_EQ(all[0].find("args")->find("name")->as_string(), "device");
  EXPECT_EQ(all[1].find("ph")->as_string(), "X");
  EXPECT_EQ(all[1].find("name")->as_string(), "linear \"q\"");
  EXPECT_EQ(all[1].find("ts")->as_double(), 1000.0);
  EXPECT_EQ(all[1].find("dur")->as_double(), 2.5);
  EXPECT_EQ(all[1].find("tid")->as_int(), 2);
  EXPECT_EQ(all[1].find("pid")->as_int(), all[0].find("pid")->as_int());
  EXPECT_EQ(all[1].find("args")->find("rows")->as_int(), 8);
  EXPECT_EQ(trace.find("otherData")->find("num_steps")->as_int(), 1);
}

TEST(TraceEventsTest, a_finished_document_leaves_nothing_for_the_next) {
  TraceEvents events;
  events.add_slice("a", 1, {}, nanoseconds(1));
  events.finish({});
  const Json trace = parse_json(events.finish({})).value();
  EXPECT_TRUE(trace.find("traceEvents")->as_array().empty());
}

}  // namespace
}  // namespace plumb
