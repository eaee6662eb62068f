// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/json.h"

namespace plumb {

/// Collects what is to be looked at on a time line and writes it in the trace event format, which
/// trace viewers (Perfetto, chrome://tracing) read.
/// Source  Trace Event Format, the JSON object form.
/// Thread  any single one.
class TraceEvents {
 public:
  /// Names a track: a line of slices, in the order of their numbers.
  void add_track(int track, const char* name);

  /// What began at a time and lasted so long. Slices of a track nest or do not overlap.
  void add_slice(const std::string& name, int track, Clock::TimePoint begin,
                 std::chrono::nanoseconds duration, JsonObject arguments = {});

  /// The whole document; nothing is left. `facts` are shown beside the time line.
  std::string finish(JsonObject facts);

 private:
  JsonArray events_;
};

}  // namespace plumb
