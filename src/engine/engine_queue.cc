// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/engine_core.h"

namespace plumb {
namespace {

// Of those that wait for rows, how many are looked at; the others count as these on average.
constexpr std::int64_t kMostForecast = 256;

}  // namespace

void EngineCore::displace_from_queue(SeqId newcomer) {
  const Sequence* const added = queues_.find(newcomer);
  if (added == nullptr) {
    return;
  }
  const Sequence* const last = queues_.last_unstarted(added->lane);
  ++totals_.num_displaced_waiting;
  const char* why = "queue is full, and a more important request took this one's place";
  if (last->lane != added->lane) {
    why = "queue is full, and a request of a key with fewer in it took this one's place";
  } else if (last == added) {
    why = uses_priority(options_.scheduler.schedule_policy)
              ? "queue is full, and no request in it is less important"
              : "queue is full, and no other key has more in it";
  }
  abort(last->id, {Code::kResourceExhausted, why});
}

// What the step says about the queue. Steps in which it could only wait for a row say nothing of
// how fast prompts are computed.
void EngineCore::observe_queue(const StepJob& job, std::chrono::nanoseconds step_time) {
  const StepStats& step = job.stats;
  const auto num_running = std::ssize(queues_.running());
  if (job.has_queue && (job.has_free_row || step.num_prefill_seqs > 0)) {
    forecast_.observe(step_time, step.num_started_tokens, step.num_started_cached_tokens);
  }
  if (step.num_decode_rows > 0) {
    decode_time_.observe(step_time);
  }
  if (step.num_decode_rows > 0 && step.num_prefill_seqs == 0) {
    answer_time_.observe(step_time);
  }
  // Of whoever came after the step was planned it says nothing.
  const bool lacks_room = job.has_queue && queues_.num_waiting() > 0 && num_running > 0 &&
                          step.num_prefill_seqs == 0 && num_held_ == 0;
  if (queues_.num_waiting() == 0) {
    num_fitting_ = options_.max_num_seqs;
  } else if (lacks_room || num_running > num_fitting_) {
    num_fitting_ = num_running;
  }
}

// Its prompt in chunks, of which the last one produces a token, then one token a step.
std::int64_t EngineCore::expected_steps(const SeqSnapshot& seq) const {
  const StepLimits& limits = planner_.limits();
  const std::int64_t chunk =
      totals_.prefill_allowance > 0 ? totals_.prefill_allowance : limits.max_num_tokens;
  const std::int64_t num_chunks =
      (std::max<std::int64_t>(seq.num_uncached(), 1) + chunk - 1) / chunk;
  return num_chunks - 1 + planner_.expected_left(seq);
}

QueueOutlook EngineCore::outlook() {
  const auto num_running = std::ssize(queues_.running());
  rows_forecast_.reset(std::max<std::int64_t>(num_fitting_, num_running));
  QueueOutlook outlook;
  StepShape decode{num_running, 0, 0};
  for (const Sequence* seq : queues_.running()) {
    const SeqSnapshot s = snapshot_of(*seq);
    decode.num_cached_tokens += seq->num_tokens();
    outlook.num_running_tokens += s.is_decode() ? 0 : s.num_uncached();
    const std::int64_t num_left = expected_steps(s);
    rows_forecast_.add_running(num_left, s.num_output + num_left);
  }
  const std::int64_t most = rows_forecast_.num_free_rows() + kMostForecast;
  queues_.for_some_waiting(most, [this](const Sequence& seq) {
    rows_forecast_.add_waiting(expected_steps(snapshot_of(seq)));
  });
  rows_forecast_.add_waiting_alike(std::max<std::int64_t>(queues_.num_waiting() - most, 0));
  outlook.num_requests = num_unstarted_;
  outlook.num_free_rows = rows_forecast_.num_free_rows();
  outlook.tokens_per_second = forecast_.tokens_per_second();
  const StepTimeModel& times = planner_.step_time();
  if (times.knows()) {
    outlook.each_token = times.each_prefill_token();
    outlook.computed_share = forecast_.computed_share();
  }
  if (const auto step =
          times.knows() ? std::optional(times.predict(decode)) : decode_time_.value()) {
    const auto time_of = [step](double num_steps) {
      // Far enough for everybody, and no overflow.
      constexpr double kMostSteps = 1e6;
      return std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::min(num_steps, kMostSteps) * std::chrono::duration<double, std::nano>(*step));
    };
    outlook.next_row = time_of(rows_forecast_.steps_until_row());
    outlook.each_row = time_of(rows_forecast_.steps_each());
  }
  return outlook;
}

}  // namespace plumb
