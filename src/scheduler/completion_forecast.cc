// SPDX-License-Identifier: Apache-2.0
#include "scheduler/completion_forecast.h"

#include <algorithm>

#include "base/check.h"

namespace plumb {

void CompletionForecast::reset(std::int64_t free, std::int64_t spare,
                               std::span<const ExpectedEnd> running) {
  free_ = free;
  spare_ = spare;
  sum_left_ = 0;
  ends_.assign(running.begin(), running.end());
  std::sort(ends_.begin(), ends_.end());
  for (const ExpectedEnd& end : ends_) {
    sum_left_ += end.left;
  }
}

void CompletionForecast::add_new(std::int64_t left, std::int64_t known) {
  const ExpectedEnd end{left, known};
  ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end), end);
  sum_left_ += left;
  free_ -= known;
}

void CompletionForecast::remove_new(std::int64_t left, std::int64_t known) {
  const ExpectedEnd end{left, known};
  const auto found = std::lower_bound(ends_.begin(), ends_.end(), end);
  PLUMB_CHECK(found != ends_.end() && *found == end, "a sequence that was not added is removed");
  ends_.erase(found);
  sum_left_ -= left;
  free_ += known;
}

// A sequence that has ended has used what it produced and given back that and what it held, so only
// what it held counts; the ones alive have produced as much as the one that ends now.
bool CompletionForecast::holds() const {
  auto alive = std::ssize(ends_);
  if (room_at_worst() > alive * spare_) {
    return true;
  }
  std::int64_t freed = 0;
  for (const ExpectedEnd& end : ends_) {
    if (free_ + freed - end.left * alive <= alive * spare_) {
      return false;
    }
    freed += end.occupied;
    --alive;
  }
  return true;
}

std::int64_t CompletionForecast::steps_until_free(std::int64_t num_tokens) const {
  auto alive = std::ssize(ends_);
  std::int64_t freed = 0;
  for (const ExpectedEnd& end : ends_) {
    freed += end.occupied;
    --alive;
    if (free_ + freed - (end.left + spare_) * alive >= num_tokens) {
      return end.left;
    }
  }
  return kNever;
}

}  // namespace plumb
