// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/engine_stats.h"

namespace plumb {

/// Records the engine's steps for a while, to be looked at as a trace: what each did and how long
/// its parts took. Keeps at most 100,000 steps (about 13 MB); more are counted.
/// Thread: any.
class StepProfile {
 public:
  /// Records from now on, `num_steps` steps or (0) until finish(). The clock outlives that.
  /// Errors kUnavailable: a recording runs.
  Status start(const Clock& clock, std::int64_t num_steps);

  /// Whether a recording has all the steps that it was to have.
  bool is_complete() const;

  /// Ends the recording: its trace as JSON, in the trace event format that trace viewers read. A
  /// step stands where it ended; of steps that overlap, planning goes on beside the one before.
  /// Errors kUnavailable: none runs.
  Result<std::string> finish();

  void on_step(const StepStats& step);

 private:
  struct Record {
    Clock::TimePoint end;
    StepStats step;
  };

  mutable Mutex mutex_;
  const Clock* clock_ PLUMB_GUARDED_BY(mutex_) = nullptr;  // while a recording runs
  std::int64_t most_steps_ PLUMB_GUARDED_BY(mutex_) = 0;   // 0: until it is ended
  std::int64_t num_left_out_ PLUMB_GUARDED_BY(mutex_) = 0;
  std::vector<Record> records_ PLUMB_GUARDED_BY(mutex_);
};

}  // namespace plumb
