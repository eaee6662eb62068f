// SPDX-License-Identifier: Apache-2.0
#include "base/trace_events.h"

#include <utility>

namespace plumb {
namespace {

constexpr int kProcess = 1;

double trace_microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

void TraceEvents::add_track(int track, const char* name) {
  events_.emplace_back(JsonObject{{"name", "thread_name"},
                                  {"ph", "M"},
                                  {"pid", kProcess},
                                  {"tid", track},
                                  {"args", JsonObject{{"name", name}}}});
}

void TraceEvents::add_slice(const std::string& name, int track, Clock::TimePoint begin,
                            std::chrono::nanoseconds duration, JsonObject arguments) {
  events_.emplace_back(JsonObject{{"name", name},
                                  {"ph", "X"},
                                  {"ts", trace_microseconds(begin.time_since_epoch())},
                                  {"dur", trace_microseconds(duration)},
                                  {"pid", kProcess},
                                  {"tid", track},
                                  {"args", std::move(arguments)}});
}

std::string TraceEvents::finish(JsonObject facts) {
  return to_text(JsonObject{{"traceEvents", std::exchange(events_, {})},
                            {"displayTimeUnit", "ms"},
                            {"otherData", std::move(facts)}});
}

}  // namespace plumb
