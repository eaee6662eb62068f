// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace plumb {

/// How a pop ended.
enum class Pop : unsigned char { kItem, kTimeout, kClosed };

/// A first-in-first-out queue of fixed capacity between threads.
///
/// Ownership  items are moved in and out; those left over die with the queue.
/// Thread     any number may push; one pops (more are correct, but wake each other needlessly).
/// Cost       memory for all slots is allocated once, by the constructor.
template <class T>
class BoundedQueue {
 public:
  /// Requires capacity >= 1.
  explicit BoundedQueue(std::int64_t capacity) : slots_(static_cast<std::size_t>(capacity)) {
    PLUMB_CHECK(capacity >= 1, "a bounded queue needs at least one slot");
  }

  /// Appends without waiting; the item is moved from only on success.
  /// Errors  kResourceExhausted: full. kUnavailable: closed.
  Status try_push(T&& item) PLUMB_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (closed_) {
        return {Code::kUnavailable, "queue is closed"};
      }
      if (size_ == slots_.size()) {
        return {Code::kResourceExhausted,
                "queue holds its limit of " + std::to_string(slots_.size()) + " items"};
      }
      put(std::move(item));
    }
    not_empty_.notify_one();
    return {};
  }

  /// Appends, waiting for space until the deadline; the item is moved from only on success.
  /// Errors  kDeadlineExceeded: still full. kUnavailable: closed.
  Status push(T&& item, std::chrono::steady_clock::time_point deadline) PLUMB_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      bool in_time = true;
      while (in_time && !closed_ && size_ == slots_.size()) {
        in_time = not_full_.wait_until(lock, deadline);
      }
      if (closed_) {
        return {Code::kUnavailable, "queue is closed"};
      }
      if (size_ == slots_.size()) {
        return {Code::kDeadlineExceeded, "queue stayed full until the deadline"};
      }
      put(std::move(item));
    }
    not_empty_.notify_one();
    return {};
  }

  /// Takes the oldest item, waiting for one until the deadline; time_point::max() waits for ever.
  /// A closed queue still gives the items it holds, then kClosed.
  Pop pop(T* out, std::chrono::steady_clock::time_point deadline) PLUMB_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      bool in_time = true;
      while (in_time && !closed_ && size_ == 0) {
        in_time = not_empty_.wait_until(lock, deadline);
      }
      if (size_ == 0) {
        return closed_ ? Pop::kClosed : Pop::kTimeout;
      }
      take(out);
    }
    not_full_.notify_one();
    return Pop::kItem;
  }

  /// Takes the oldest item if there is one, without waiting.
  bool try_pop(T* out) PLUMB_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (size_ == 0) {
        return false;
      }
      take(out);
    }
    not_full_.notify_one();
    return true;
  }

  /// Ends all waits; later pushes fail, pops drain what is left.
  void close() PLUMB_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  bool closed() const PLUMB_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return closed_;
  }

  std::int64_t size() const PLUMB_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return static_cast<std::int64_t>(size_);
  }

 private:
  void put(T&& item) PLUMB_REQUIRES(mutex_) {
    slots_[(head_ + size_) % slots_.size()].emplace(std::move(item));
    ++size_;
  }

  void take(T* out) PLUMB_REQUIRES(mutex_) {
    *out = std::move(*slots_[head_]);
    slots_[head_].reset();
    head_ = (head_ + 1) % slots_.size();
    --size_;
  }

  mutable Mutex mutex_;
  CondVar not_empty_;
  CondVar not_full_;
  std::vector<std::optional<T>> slots_ PLUMB_GUARDED_BY(mutex_);
  std::size_t head_ PLUMB_GUARDED_BY(mutex_) = 0;
  std::size_t size_ PLUMB_GUARDED_BY(mutex_) = 0;
  bool closed_ PLUMB_GUARDED_BY(mutex_) = false;
};

}  // namespace plumb
