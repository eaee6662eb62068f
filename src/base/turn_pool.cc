// SPDX-License-Identifier: Apache-2.0
#include "base/turn_pool.h"

#include <algorithm>
#include <utility>

namespace plumb {

TurnPool::TurnPool(const std::string& name, const Options& options, const Clock& clock)
    : options_(options), clock_(clock) {
  PLUMB_CHECK(options.num_running >= 1 && options.num_threads >= options.num_running &&
                  options.max_queued >= 1,
              "turn pool: bad counts");
  for (int i = 0; i < options.num_threads; ++i) {
    threads_.emplace_back(name + "-" + std::to_string(i), [this] { work(); });
  }
}

TurnPool::~TurnPool() {
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

Status TurnPool::submit(const std::string& owner, Task task) {
  {
    const MutexLock lock(mutex_);
    const auto found = owners_.find(owner);
    const std::int64_t num_own = found == owners_.end() ? 0 : std::ssize(found->second.queued);
    const std::int64_t num_free = options_.max_queued - num_queued_;
    if (num_own >= num_free) {
      return {Code::kResourceExhausted, "queue has " + std::to_string(num_free) + " of " +
                                            std::to_string(options_.max_queued) +
                                            " places left, and this owner holds " +
                                            std::to_string(num_own)};
    }
    const auto [it, is_new] = owners_.try_emplace(owner);
    if (is_new) {
      it->second.last_turn = num_turns_;  // behind those that wait already
    }
    it->second.queued.push_back(std::move(task));
    ++num_queued_;
  }
  changed_.notify_all();
  return {};
}

std::int64_t TurnPool::num_waiting() const {
  const MutexLock lock(mutex_);
  return num_queued_ + std::count_if(waiting_.begin(), waiting_.end(),
                                     [](const Waiting& each) { return !each.has_turn; });
}

int TurnPool::num_begun() const {
  const MutexLock lock(mutex_);
  return num_begun_;
}

void TurnPool::work() {
  std::string owner;
  Task task;
  while (begin_task(&owner, &task)) {
    Turn turn(this, owner);
    turn.begin_ = clock_.now();
    task(turn);
    task = nullptr;  // what it captured dies now, not when the next task comes
    end_task(owner);
  }
}

// The owner whose next task may begin now: one with few that have begun, and of these the one whose
// last turn is longest ago.
TurnPool::Owners::iterator TurnPool::next_owner() {
  const int num_free = options_.num_threads - num_begun_;
  const auto rank = [](const Owner& owner) { return std::pair(owner.num_begun, owner.last_turn); };
  auto next = owners_.end();
  for (auto it = owners_.begin(); it != owners_.end(); ++it) {
    const Owner& owner = it->second;
    const bool may_begin =
        !owner.queued.empty() && (owner.num_begun == 0 || owner.num_begun < num_free);
    if (may_begin && (next == owners_.end() || rank(owner) < rank(next->second))) {
      next = it;
    }
  }
  return next;
}

// Waits for a task and its first turn; false if there are to be no more.
bool TurnPool::begin_task(std::string* owner, Task* task) {
  MutexLock lock(mutex_);
  auto next = next_owner();
  for (; next == owners_.end(); next = next_owner()) {
    if (is_closed_ && num_queued_ == 0) {
      return false;
    }
    changed_.wait(lock);
  }
  *owner = next->first;
  *task = std::move(next->second.queued.front());
  next->second.queued.pop_front();
  ++next->second.num_begun;
  --num_queued_;
  ++num_begun_;
  take_turn(*owner, &lock);
  return true;
}

void TurnPool::take_turn(const std::string& owner, MutexLock* lock) {
  const auto mine = waiting_.insert(waiting_.end(), {&owners_.at(owner)});
  give_turn();
  while (!mine->has_turn) {
    changed_.wait(*lock);
  }
  waiting_.erase(mine);
}

// To the first of the owner whose last turn is longest ago, if one more may run.
void TurnPool::give_turn() {
  while (num_running_ < options_.num_running) {
    Waiting* next = nullptr;
    for (Waiting& each : waiting_) {
      if (!each.has_turn && (next == nullptr || each.owner->last_turn < next->owner->last_turn)) {
        next = &each;
      }
    }
    if (next == nullptr) {
      return;
    }
    next->has_turn = true;
    next->owner->last_turn = ++num_turns_;
    ++num_running_;
    changed_.notify_all();
  }
}

void TurnPool::end_task(const std::string& owner) {
  {
    const MutexLock lock(mutex_);
    --num_running_;
    --num_begun_;
    const auto it = owners_.find(owner);
    --it->second.num_begun;
    if (it->second.num_begun == 0 && it->second.queued.empty()) {
      owners_.erase(it);
    }
    give_turn();
  }
  changed_.notify_all();
}

void TurnPool::Turn::offer() {
  if (pool_.clock_.now() - begin_ < pool_.options_.slice) {
    return;
  }
  {
    MutexLock lock(pool_.mutex_);
    if (!pool_.waiting_.empty()) {
      --pool_.num_running_;
      pool_.take_turn(owner_, &lock);
    }
  }
  begin_ = pool_.clock_.now();
}

}  // namespace plumb
