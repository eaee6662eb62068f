// SPDX-License-Identifier: Apache-2.0
#include "engine/tier_rates.h"

namespace plumb {
namespace {

constexpr double kWeightOfSample = 0.2;
constexpr double kFixedSeconds = 0.0005;

double seconds_for(std::int64_t num_bytes, const MeasuredRate& rate) {
  return rate.is_known() ? static_cast<double>(num_bytes) / rate.per_second() : 0;
}

}  // namespace

void MeasuredRate::observe(double amount, std::chrono::nanoseconds time) {
  if (time.count() <= 0 || amount <= 0) {
    return;
  }
  const double sample = amount / std::chrono::duration<double>(time).count();
  per_second_ = is_known() ? per_second_ + kWeightOfSample * (sample - per_second_) : sample;
}

bool LoadRule::prefers(double seconds, std::int64_t num_tokens, MeasuredRate* slowest) {
  if (!prefill_tokens.is_known() ||
      seconds + kFixedSeconds < static_cast<double>(num_tokens) / prefill_tokens.per_second()) {
    return true;
  }
  slowest->relax();
  return false;
}

bool LoadRule::prefers_host(std::int64_t num_bytes, std::int64_t num_tokens) {
  return prefers(seconds_for(num_bytes, host_bytes), num_tokens, &host_bytes);
}

bool LoadRule::prefers_disk(std::int64_t num_bytes, std::int64_t num_tokens) {
  return prefers(seconds_for(num_bytes, disk_bytes) + seconds_for(num_bytes, host_bytes),
                 num_tokens, &disk_bytes);
}

}  // namespace plumb
