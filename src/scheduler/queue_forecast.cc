// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue_forecast.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"

namespace plumb {
namespace {

constexpr double kMemorySeconds = 30;
constexpr double kLeastSeconds = 0.1;
constexpr double kMostMillis = 1e12;
constexpr std::int64_t kMeanSteps = 32;

}  // namespace

void QueueForecast::observe(std::chrono::nanoseconds elapsed, std::int64_t started_tokens,
                            std::int64_t cached_tokens) {
  const double seconds = static_cast<double>(elapsed.count()) / 1e9;
  const double kept = std::exp(-seconds / kMemorySeconds);
  seconds_ = seconds_ * kept + seconds;
  tokens_ = tokens_ * kept + static_cast<double>(started_tokens);
  cached_tokens_ = cached_tokens_ * kept + static_cast<double>(cached_tokens);
}

double QueueForecast::computed_share() const {
  return tokens_ > 0 ? std::clamp(1 - cached_tokens_ / tokens_, 0.0, 1.0) : 1.0;
}

std::optional<double> QueueForecast::tokens_per_second() const {
  return seconds_ >= kLeastSeconds && tokens_ > 0 ? std::optional(tokens_ / seconds_)
                                                  : std::nullopt;
}

std::chrono::milliseconds queue_time(std::int64_t queued_tokens, double tokens_per_second) {
  const double millis =
      static_cast<double>(queued_tokens) / std::max(tokens_per_second, 1e-6) * 1e3;
  return std::chrono::milliseconds(std::llround(std::min(millis, kMostMillis)));
}

void MeanStepTime::observe(std::chrono::nanoseconds time) {
  num_seen_ = std::min(num_seen_ + 1, kMeanSteps);
  nanos_ += (static_cast<double>(time.count()) - nanos_) / static_cast<double>(num_seen_);
}

std::optional<std::chrono::nanoseconds> MeanStepTime::value() const {
  return num_seen_ > 0 ? std::optional(std::chrono::nanoseconds(std::llround(nanos_)))
                       : std::nullopt;
}

void RowForecast::reset(std::int64_t num_rows) {
  num_rows_ = num_rows;
  ends_.clear();
  sum_steps_ = 0;
  num_seqs_ = 0;
  steps_alike_ = 0;
}

void RowForecast::take_row(std::int64_t end) {
  ends_.push_back(end);
  std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
}

void RowForecast::add_running(std::int64_t num_left, std::int64_t num_steps) {
  PLUMB_CHECK(num_free_rows() > 0, "more sequences run than there are rows");
  take_row(num_left);
  sum_steps_ += static_cast<double>(num_steps);
  ++num_seqs_;
}

void RowForecast::add_waiting(std::int64_t num_steps) {
  std::int64_t begin = 0;
  if (num_free_rows() == 0) {
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    begin = ends_.back();
    ends_.pop_back();
  }
  take_row(begin + num_steps);
  sum_steps_ += static_cast<double>(num_steps);
  ++num_seqs_;
}

void RowForecast::add_waiting_alike(std::int64_t count) {
  steps_alike_ += static_cast<double>(count) * steps_each();
}

double RowForecast::steps_until_row() const {
  return (ends_.empty() ? 0.0 : static_cast<double>(ends_.front())) + steps_alike_;
}

double RowForecast::steps_each() const {
  return num_seqs_ == 0
             ? 0.0
             : sum_steps_ / static_cast<double>(num_seqs_) / static_cast<double>(num_rows_);
}

std::optional<std::chrono::milliseconds> QueueOutlook::wait(std::int64_t num_requests_now,
                                                            std::int64_t num_tokens_now) const {
  // Those who came since and found no row.
  const std::int64_t num_later =
      std::max<std::int64_t>(num_requests_now - num_requests, 0) - num_free_rows;
  std::optional<std::chrono::milliseconds> for_row;
  if (num_later < 0) {
    for_row = std::chrono::milliseconds(0);
  } else if (next_row.has_value()) {
    const double nanos = static_cast<double>(next_row->count()) +
                         static_cast<double>(num_later) * static_cast<double>(each_row.count()) +
                         (static_cast<double>(num_running_tokens) +
                          computed_share * static_cast<double>(num_tokens_now)) *
                             static_cast<double>(each_token.count());
    for_row = std::chrono::milliseconds(std::llround(std::min(nanos / 1e6, kMostMillis)));
  }
  std::optional<std::chrono::milliseconds> for_prompts;
  if (num_tokens_now == 0) {
    for_prompts = std::chrono::milliseconds(0);
  } else if (tokens_per_second.has_value()) {
    for_prompts = queue_time(num_tokens_now, *tokens_per_second);
  }
  // A wait of none says nothing where the other one is not known.
  const std::optional<std::chrono::milliseconds> longer = std::max(for_row, for_prompts);
  const bool knows_both = for_row.has_value() && for_prompts.has_value();
  return knows_both || longer > std::chrono::milliseconds(0) ? longer : std::nullopt;
}

}  // namespace plumb
