// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/metrics.h"
#include "base/mutex.h"
#include "engine/engine_stats.h"
#include "frontend/step_profile.h"

namespace plumb {

/// Distributions over the engine's steps, and their profile where one is recorded.
/// Ownership  outlives the engine that it observes. Thread: any.
class StepMetrics final : public EngineObserver {
 public:
  explicit StepMetrics(Metrics& metrics);

  /// Shows the tokens of a step under another name, too.
  void add_tokens(Histogram histogram);

  StepProfile& profile() { return profile_; }

  void on_step(const StepStats& step) override;
  void on_end(const Request& request, const StreamEvent& event) override;

 private:
  Mutex mutex_;
  Measure tokens_ PLUMB_GUARDED_BY(mutex_);
  Histogram planner_time_;
  StepProfile profile_;
};

}  // namespace plumb
