// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/mutex.h"
#include "base/thread.h"
#include "engine/step_job.h"

namespace plumb {

/// Computes launched steps one after the other, on a thread of its own.
///
/// Without start() there is no thread: a step is then computed by the take() that waits for it,
/// later than a thread would, so that tests see the same every time.
/// Thread  engine.
/// Cost    no allocation.
class DeviceWorker {
 public:
  /// Steps that may be under way at a time.
  static constexpr std::int64_t kMostSteps = 2;

  using Run = std::function<void(StepJob&)>;

  explicit DeviceWorker(Run run) : run_(std::move(run)) {}

  /// Requires that no step is under way.
  ~DeviceWorker();
  DeviceWorker(const DeviceWorker&) = delete;
  DeviceWorker& operator=(const DeviceWorker&) = delete;

  /// Starts the thread. Requires that no step is under way.
  void start();

  /// Queues a step behind those under way. Requires fewer than kMostSteps are; the job lives until
  /// it is taken.
  void launch(StepJob& job);

  /// Waits for the oldest of the steps under way and hands it over. Requires there is one.
  StepJob& take();

  std::int64_t num_under_way() const { return num_launched_ - num_taken_; }

 private:
  void loop();

  StepJob& at(std::int64_t index) PLUMB_REQUIRES(mutex_) {
    return *jobs_[static_cast<std::size_t>(index % kMostSteps)];
  }

  const Run run_;
  std::int64_t num_launched_ = 0;
  std::int64_t num_taken_ = 0;
  Mutex mutex_;
  CondVar changed_;
  std::array<StepJob*, kMostSteps> jobs_ PLUMB_GUARDED_BY(mutex_){};
  std::int64_t num_queued_ PLUMB_GUARDED_BY(mutex_) = 0;  ///< launched, as the thread sees it
  std::int64_t num_done_ PLUMB_GUARDED_BY(mutex_) = 0;
  bool is_ending_ PLUMB_GUARDED_BY(mutex_) = false;
  std::optional<Thread> thread_;  // last: it uses the others
};

}  // namespace plumb
