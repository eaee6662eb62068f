// SPDX-License-Identifier: Apache-2.0
#include "frontend/step_profile.h"

#include <chrono>
#include <utility>

#include "base/trace_events.h"

namespace plumb {
namespace {

constexpr std::int64_t kMostRecords = 100'000;
constexpr int kHostTrack = 1;
constexpr int kDeviceTrack = 2;

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

void add_slices(const StepStats& step, Clock::TimePoint end, TraceEvents* events) {
  const Clock::TimePoint sampled = end - step.sample_time;
  const Clock::TimePoint begin = sampled - step.model_time;
  events->add_slice("plan", kHostTrack, begin - step.plan_time, step.plan_time,
                    {{"deciding_us", microseconds(step.planner_time)},
                     {"num_admitted", step.num_admitted},
                     {"num_preempted", step.num_preempted},
                     {"num_evicted_blocks", step.num_evicted_blocks}});
  events->add_slice("model", kDeviceTrack, begin, step.model_time,
                    {{"num_decode_rows", step.num_decode_rows},
                     {"num_prefill_seqs", step.num_prefill_seqs},
                     {"num_prefill_tokens", step.num_prefill_tokens},
                     {"num_cached_tokens", step.num_cached_tokens},
                     {"num_recompute_tokens", step.num_recompute_tokens}});
  events->add_slice("sample", kDeviceTrack, sampled, step.sample_time,
                    {{"num_logits_rows", step.num_logits_rows}});
}

}  // namespace

Status StepProfile::start(const Clock& clock, std::int64_t num_steps) {
  const MutexLock lock(mutex_);
  if (clock_ != nullptr) {
    return {Code::kUnavailable, "a profile is being recorded; end it with /stop_profile"};
  }
  clock_ = &clock;
  most_steps_ = num_steps;
  num_left_out_ = 0;
  return {};
}

bool StepProfile::is_complete() const {
  const MutexLock lock(mutex_);
  return clock_ != nullptr && most_steps_ > 0 &&
         std::ssize(records_) + num_left_out_ >= most_steps_;
}

void StepProfile::on_step(const StepStats& step) {
  const MutexLock lock(mutex_);
  const std::int64_t num_seen = std::ssize(records_) + num_left_out_;
  if (clock_ == nullptr || (most_steps_ > 0 && num_seen >= most_steps_)) {
    return;
  }
  if (std::ssize(records_) < kMostRecords) {
    records_.push_back({clock_->now(), step});
  } else {
    ++num_left_out_;
  }
}

Result<std::string> StepProfile::finish() {
  std::vector<Record> records;
  std::int64_t num_left_out = 0;
  {
    const MutexLock lock(mutex_);
    if (clock_ == nullptr) {
      return Status(Code::kUnavailable, "no profile is being recorded; begin with /start_profile");
    }
    clock_ = nullptr;
    records.swap(records_);
    num_left_out = num_left_out_;
  }
  TraceEvents events;
  events.add_track(kHostTrack, "engine");
  events.add_track(kDeviceTrack, "device");
  for (const Record& record : records) {
    add_slices(record.step, record.end, &events);
  }
  return events.finish({{"num_steps", std::ssize(records)}, {"num_left_out", num_left_out}});
}

}  // namespace plumb
