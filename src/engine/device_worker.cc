// SPDX-License-Identifier: Apache-2.0
#include "engine/device_worker.h"

#include "base/check.h"

namespace plumb {

DeviceWorker::~DeviceWorker() {
  PLUMB_CHECK(num_under_way() == 0, "steps are under way, and nobody will take them");
  {
    const MutexLock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
}

void DeviceWorker::start() {
  PLUMB_CHECK(!thread_ && num_under_way() == 0, "started twice, or too late");
  thread_.emplace("device", [this] { loop(); });
}

void DeviceWorker::launch(StepJob& job) {
  PLUMB_CHECK(num_under_way() < kMostSteps, "too many steps are under way");
  ++num_launched_;
  {
    const MutexLock lock(mutex_);
    jobs_[static_cast<std::size_t>(num_queued_++ % kMostSteps)] = &job;
  }
  changed_.notify_all();
}

StepJob& DeviceWorker::take() {
  PLUMB_CHECK(num_under_way() > 0, "no step is under way");
  const std::int64_t index = num_taken_++;
  StepJob* job = nullptr;
  {
    MutexLock lock(mutex_);
    while (thread_ && num_done_ <= index) {
      changed_.wait(lock);
    }
    job = &at(index);
  }
  if (!thread_) {
    run_(*job);
    const MutexLock lock(mutex_);
    ++num_done_;
  }
  return *job;
}

void DeviceWorker::loop() {
  for (;;) {
    StepJob* job = nullptr;
    {
      MutexLock lock(mutex_);
      while (num_done_ == num_queued_ && !is_ending_) {
        changed_.wait(lock);
      }
      if (is_ending_) {
        return;
      }
      job = &at(num_done_);
    }
    run_(*job);
    {
      const MutexLock lock(mutex_);
      ++num_done_;
    }
    changed_.notify_all();
  }
}

}  // namespace plumb
