// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace plumb {

/// A measured speed: the average of what was seen, recent samples counting most.
class MeasuredRate {
 public:
  bool is_known() const { return per_second_ > 0; }

  double per_second() const { return per_second_; }

  /// Takes so many units in so much time for a sample; times that the clock cannot tell from
  /// nothing are none.
  void observe(double amount, std::chrono::nanoseconds time);

  /// A little faster than measured, so that what was slow once is tried again.
  void relax() { per_second_ *= 1.05; }

 private:
  double per_second_ = 0;
};

/// Whether blocks are worth fetching: bytes / speed of the tier + fixed cost < tokens / speed of
/// prefill. What was never measured is assumed to be worth it.
class LoadRule {
 public:
  MeasuredRate host_bytes;
  MeasuredRate disk_bytes;
  MeasuredRate prefill_tokens;

  bool prefers_host(std::int64_t num_bytes, std::int64_t num_tokens);
  /// From the disk to the device: both ways are counted.
  bool prefers_disk(std::int64_t num_bytes, std::int64_t num_tokens);

 private:
  bool prefers(double seconds, std::int64_t num_tokens, MeasuredRate* slowest);
};

}  // namespace plumb
