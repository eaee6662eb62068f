// SPDX-License-Identifier: Apache-2.0
#include "frontend/step_profile.h"

#include <chrono>
#include <utility>

#include "base/json.h"

namespace plumb {
namespace {

constexpr std::int64_t kMostRecords = 100'000;
constexpr int kHostTrack = 1;
constexpr int kDeviceTrack = 2;

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

Json slice(const char* name, int track, Clock::TimePoint begin, std::chrono::nanoseconds duration,
           JsonObject arguments = {}) {
  return JsonObject{{"name", name},
                    {"ph", "X"},
                    {"ts", microseconds(begin.time_since_epoch())},
                    {"dur", microseconds(duration)},
                    {"pid", 1},
                    {"tid", track},
                    {"args", std::move(arguments)}};
}

Json track_name(int track, const char* name) {
  return JsonObject{{"name", "thread_name"},
                    {"ph", "M"},
                    {"pid", 1},
                    {"tid", track},
                    {"args", JsonObject{{"name", name}}}};
}

void add_slices(const StepStats& step, Clock::TimePoint end, JsonArray* events) {
  const Clock::TimePoint sampled = end - step.sample_time;
  const Clock::TimePoint begin = sampled - step.model_time;
  events->push_back(slice("plan", kHostTrack, begin - step.plan_time, step.plan_time,
                          {{"deciding_us", microseconds(step.planner_time)},
                           {"num_admitted", step.num_admitted},
                           {"num_preempted", step.num_preempted},
                           {"num_evicted_blocks", step.num_evicted_blocks}}));
  events->push_back(slice("model", kDeviceTrack, begin, step.model_time,
                          {{"num_decode_rows", step.num_decode_rows},
                           {"num_prefill_seqs", step.num_prefill_seqs},
                           {"num_prefill_tokens", step.num_prefill_tokens},
                           {"num_cached_tokens", step.num_cached_tokens},
                           {"num_recompute_tokens", step.num_recompute_tokens}}));
  events->push_back(slice("sample", kDeviceTrack, sampled, step.sample_time,
                          {{"num_logits_rows", step.num_logits_rows}}));
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
  JsonArray events{track_name(kHostTrack, "engine"), track_name(kDeviceTrack, "device")};
  for (const Record& record : records) {
    add_slices(record.step, record.end, &events);
  }
  return to_text(JsonObject{{"traceEvents", std::move(events)},
                            {"displayTimeUnit", "ms"},
                            {"otherData", JsonObject{{"num_steps", std::ssize(records)},
                                                     {"num_left_out", num_left_out}}}});
}

}  // namespace plumb
