// SPDX-License-Identifier: Apache-2.0
#include "engine/sequence_queues.h"

#include <algorithm>

namespace plumb {

Sequence& SequenceQueues::add(std::unique_ptr<Sequence> sequence) {
  Sequence& added = *sequence;
  sequences_.emplace(added.id, std::move(sequence));
  waiting_.insert(&added);
  if (added.deadline) {
    deadlines_.emplace(*added.deadline, added.id);
  }
  if (added.queue_deadline) {
    deadlines_.emplace(*added.queue_deadline, added.id);
  }
  return added;
}

Sequence* SequenceQueues::find(SeqId id) {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : found->second.get();
}

void SequenceQueues::forget_queue_deadline(Sequence& sequence) {
  if (sequence.queue_deadline) {
    if (sequence.queue_deadline != sequence.deadline) {
      deadlines_.erase({*sequence.queue_deadline, sequence.id});
    }
    sequence.queue_deadline.reset();
  }
}

void SequenceQueues::set_running(Sequence& sequence) {
  waiting_.erase(&sequence);
  forget_queue_deadline(sequence);
  running_.insert(std::upper_bound(running_.begin(), running_.end(), &sequence, QueueOrder()),
                  &sequence);
  sequence.is_running = true;
}

void SequenceQueues::set_waiting(Sequence& sequence) {
  std::erase(running_, &sequence);
  sequence.is_running = false;
  waiting_.insert(&sequence);
}

std::unique_ptr<Sequence> SequenceQueues::remove(Sequence& sequence) {
  if (sequence.is_running) {
    std::erase(running_, &sequence);
  } else {
    waiting_.erase(&sequence);
  }
  forget_queue_deadline(sequence);
  if (sequence.deadline) {
    deadlines_.erase({*sequence.deadline, sequence.id});
  }
  auto node = sequences_.extract(sequence.id);
  return std::move(node.mapped());
}

void SequenceQueues::first_waiting(std::int64_t count, std::vector<Sequence*>* out) const {
  out->clear();
  for (auto at = waiting_.begin(); at != waiting_.end() && std::ssize(*out) < count; ++at) {
    out->push_back(*at);
  }
}

void SequenceQueues::passed_deadlines(Clock::TimePoint now, std::vector<SeqDeadline>* out) const {
  constexpr std::int64_t kMost = 64;
  out->clear();
  for (const auto& [at, id] : deadlines_) {
    if (at > now || std::ssize(*out) == kMost) {
      break;
    }
    out->push_back({id, at});
  }
}

}  // namespace plumb
