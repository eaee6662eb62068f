// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Thread-safety annotations: checked by clang with -Wthread-safety, nothing under other compilers.
#ifdef __clang__
#define PLUMB_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define PLUMB_THREAD_ATTRIBUTE(x)
#endif
#define PLUMB_CAPABILITY(name) PLUMB_THREAD_ATTRIBUTE(capability(name))
#define PLUMB_SCOPED_CAPABILITY PLUMB_THREAD_ATTRIBUTE(scoped_lockable)
/// The member may be touched only while the named mutex is held.
#define PLUMB_GUARDED_BY(mutex) PLUMB_THREAD_ATTRIBUTE(guarded_by(mutex))
/// What the pointer refers to may be touched only while the named mutex is held.
#define PLUMB_PT_GUARDED_BY(mutex) PLUMB_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
/// The caller holds the mutex.
#define PLUMB_REQUIRES(...) PLUMB_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The caller does not hold the mutex.
#define PLUMB_EXCLUDES(...) PLUMB_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define PLUMB_ACQUIRE(...) PLUMB_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define PLUMB_RELEASE(...) PLUMB_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define PLUMB_NO_THREAD_SAFETY_ANALYSIS PLUMB_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace plumb {

class CondVar;

/// A mutex that clang's analysis knows; lock it through MutexLock only.
/// Thread: any.
class PLUMB_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex until the end of the scope.
class PLUMB_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PLUMB_ACQUIRE(mutex) : lock_(mutex.mutex_) {}

  // NOLINTNEXTLINE(modernize-use-equals-default): the analysis wants a body
  ~MutexLock() PLUMB_RELEASE() {}

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

/// A condition variable. Waits may wake without a reason: call them in a loop that tests the
/// condition (the analysis then sees that the test happens under the lock).
/// Thread: any.
class CondVar {
 public:
  void notify_one() { condition_.notify_one(); }

  void notify_all() { condition_.notify_all(); }

  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }

  /// False if the deadline passed first.
  bool wait_until(MutexLock& lock, std::chrono::steady_clock::time_point deadline) {
    // The library overflows near time_point::max(), which callers use for "no deadline".
    constexpr auto kFar = std::chrono::hours(24 * 365 * 100);
    if (deadline.time_since_epoch() > kFar) {
      condition_.wait(lock.lock_);
      return true;
    }
    return condition_.wait_until(lock.lock_, deadline) == std::cv_status::no_timeout;
  }

 private:
  std::condition_variable condition_;
};

}  // namespace plumb
