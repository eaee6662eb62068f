// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/mutex.h"
#include "request/kv_event.h"

namespace plumb {

/// The last batches of cache events, for readers that come and go.
///
/// Writing never waits for a reader: the oldest batches are dropped, and who has not read them is
/// told of the gap.
/// Thread  any.
/// Cost    append: one short lock; read: copies at most one page under it.
class KvEventLog {
 public:
  struct Limits {
    std::int64_t max_batches = 10'000;
    std::int64_t max_bytes = std::int64_t{64} << 20;  ///< of what is kept; one batch always is
  };

  /// Numbers batches from first_seq on. Where each start begins higher than the last one ended, a
  /// reader that goes on from its last number after a restart is told of a gap.
  KvEventLog(const Limits& limits, std::uint64_t first_seq)
      : limits_(limits), next_seq_(first_seq) {}

  /// Does nothing without events.
  void append(std::vector<KvEvent> events, std::chrono::system_clock::time_point at);

  /// The batches from `from` on, as many as fit max_bytes, at least one if there is one.
  KvEventPage read(std::uint64_t from, std::int64_t max_bytes) const;

  /// Number of the next batch.
  std::uint64_t next_seq() const;

 private:
  struct Kept {
    KvEventBatch batch;
    std::int64_t num_bytes = 0;
  };

  const Limits limits_;
  mutable Mutex mutex_;
  std::deque<Kept> kept_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_bytes_ PLUMB_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_seq_ PLUMB_GUARDED_BY(mutex_);
};

}  // namespace plumb
