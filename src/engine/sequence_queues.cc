// SPDX-License-Identifier: Apache-2.0
#include "engine/sequence_queues.h"

#include <algorithm>

namespace plumb {

Sequence& SequenceQueues::add(std::unique_ptr<Sequence> sequence) {
  Sequence& added = *sequence;
  sequences_.emplace(added.id, std::move(sequence));
  enqueue(added);
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
  dequeue(sequence);
  forget_queue_deadline(sequence);
  running_.insert(std::upper_bound(running_.begin(), running_.end(), &sequence, QueueOrder()),
                  &sequence);
  sequence.is_running = true;
}

void SequenceQueues::set_waiting(Sequence& sequence) {
  std::erase(running_, &sequence);
  sequence.is_running = false;
  enqueue(sequence);
}

std::unique_ptr<Sequence> SequenceQueues::remove(Sequence& sequence) {
  if (sequence.is_running) {
    std::erase(running_, &sequence);
  } else {
    dequeue(sequence);
  }
  forget_queue_deadline(sequence);
  if (sequence.deadline) {
    deadlines_.erase({*sequence.deadline, sequence.id});
  }
  auto node = sequences_.extract(sequence.id);
  return std::move(node.mapped());
}

void SequenceQueues::enqueue(Sequence& sequence) {
  const auto place = static_cast<std::size_t>(sequence.lane);
  lanes_.resize(std::max(lanes_.size(), place + 1));
  lanes_[place].insert(&sequence);
  fair_.add_waiting(sequence.lane);
  ++num_waiting_;
}

void SequenceQueues::dequeue(Sequence& sequence) {
  waiting(sequence.lane).erase(&sequence);
  fair_.remove_waiting(sequence.lane);
  --num_waiting_;
}

Sequence* SequenceQueues::last_unstarted(TenantId newcomer) const {
  Sequence* last = nullptr;
  for (const TenantId id : fair_.waiting_tenants()) {
    const Lane& lane = lanes_[static_cast<std::size_t>(id)];
    const auto found = std::find_if(lane.rbegin(), lane.rend(),
                                    [](const Sequence* seq) { return !seq->was_started; });
    if (found == lane.rend()) {
      continue;
    }
    const bool has_more = last == nullptr || fair_.has_more_waiting(id, last->lane);
    if (has_more || (id == newcomer && !fair_.has_more_waiting(last->lane, id))) {
      last = *found;
    }
  }
  return last;
}

std::string_view SequenceQueues::busiest_tenant() const {
  const std::span<const TenantId> waiting = fair_.waiting_tenants();
  const auto busiest =
      std::max_element(waiting.begin(), waiting.end(),
                       [this](TenantId a, TenantId b) { return fair_.has_more_waiting(b, a); });
  if (busiest == waiting.end()) {
    return {};
  }
  return (*lanes_[static_cast<std::size_t>(*busiest)].begin())->request.tenant;
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
