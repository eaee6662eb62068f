// SPDX-License-Identifier: Apache-2.0
#include "kvcache/kv_event_log.h"

#include <utility>

namespace plumb {
namespace {

std::int64_t bytes_of(const std::vector<KvEvent>& events) {
  std::int64_t sum = 0;
  for (const KvEvent& event : events) {
    sum += static_cast<std::int64_t>(sizeof(KvEvent) + event.blocks.size() * sizeof(BlockHash) +
                                     event.tokens.size() * sizeof(TokenId));
  }
  return sum;
}

}  // namespace

void KvEventLog::append(std::vector<KvEvent> events, std::chrono::system_clock::time_point at) {
  if (events.empty()) {
    return;
  }
  const std::int64_t num_bytes = bytes_of(events);
  const MutexLock lock(mutex_);
  kept_.push_back({{next_seq_++, at, std::move(events)}, num_bytes});
  num_bytes_ += num_bytes;
  while (std::ssize(kept_) > 1 &&
         (std::ssize(kept_) > limits_.max_batches || num_bytes_ > limits_.max_bytes)) {
    num_bytes_ -= kept_.front().num_bytes;
    kept_.pop_front();
  }
}

KvEventPage KvEventLog::read(std::uint64_t from, std::int64_t max_bytes) const {
  const MutexLock lock(mutex_);
  KvEventPage page;
  const std::uint64_t oldest = next_seq_ - kept_.size();
  page.has_gap = from < oldest || from > next_seq_;
  page.next_seq = page.has_gap ? oldest : from;
  std::int64_t num_bytes = 0;
  while (page.next_seq < next_seq_) {
    const Kept& next = kept_[static_cast<std::size_t>(page.next_seq - oldest)];
    num_bytes += next.num_bytes;
    if (num_bytes > max_bytes && !page.batches.empty()) {
      break;
    }
    page.batches.push_back(next.batch);
    ++page.next_seq;
  }
  return page;
}

std::uint64_t KvEventLog::next_seq() const {
  const MutexLock lock(mutex_);
  return next_seq_;
}

}  // namespace plumb
