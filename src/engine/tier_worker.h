// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "kvcache/kv_tier.h"

namespace plumb {

/// One errand to a slow tier. The memory that it names stays where it is until the answer has come
/// or the worker is gone.
struct TierJob {
  enum class Kind : unsigned char {
    kLookUp,  ///< KvTier::exists
    kRead,    ///< KvTier::get
    kWrite,   ///< KvTier::put
    kClear,   ///< KvTier::clear
    kOpen,    ///< of an answer that nobody asked for: the tier was opened and has events to tell
  };

  Kind kind = Kind::kLookUp;
  std::uint64_t ticket = 0;  ///< the caller's
  std::vector<BlockHash> chain;
  std::vector<std::span<std::byte>> buffers;  ///< of kRead
  std::vector<TierBlock> blocks;              ///< of kWrite
};

/// What came of an errand.
struct TierAnswer {
  TierJob::Kind kind = TierJob::Kind::kLookUp;
  std::uint64_t ticket = 0;
  std::int64_t count = 0;  ///< blocks from the beginning of the chain
  std::chrono::nanoseconds time{};
  std::vector<KvEvent> events;  ///< of the tier since the answer before
};

/// Does the errands to a slow tier on a thread of its own: what is asked for first, then what is to
/// be written. A tier that cannot be opened has no blocks; one log line says why.
///
/// Without start() nothing runs by itself: tests call run_pending().
/// Thread  any one thread, besides its own.
class TierWorker {
 public:
  using Open = std::function<Result<std::unique_ptr<KvTier>>()>;

  /// `open` is called where the errands are done, before the first one.
  TierWorker(Open open, const Clock& clock);
  /// Finishes what is to be written, until the moment of finish_by() if there is one, drops what
  /// was asked for, and joins the thread.
  ~TierWorker();
  TierWorker(const TierWorker&) = delete;
  TierWorker& operator=(const TierWorker&) = delete;

  /// Starts the thread; it calls `wake` after each answer.
  void start(std::function<void()> wake);

  /// What cannot be written by then is dropped at the end. One log line counts that and the blocks
  /// that the caller left out. An errand that was begun is finished, and so is KvTier::clear.
  void finish_by(Clock::TimePoint deadline, std::int64_t num_left_out = 0);

  /// Errors kResourceExhausted: too many errands wait; the job is moved from on success only.
  Status submit(TierJob&& job);

  /// Does all that waits, on this thread. Requires start() was not called.
  void run_pending();

  bool has_thread() const { return thread_.has_value(); }

  /// Waits until there are answers to take; false if there are none and no errand is under way.
  bool wait();

  /// Moves the answers so far to the end of `out`.
  void take_answers(std::vector<TierAnswer>* out);

  /// As of the last errand.
  TierStats stats() const;

 private:
  void run();
  std::optional<TierJob> next_job() PLUMB_REQUIRES(mutex_);
  void drop_late_writes() PLUMB_REQUIRES(mutex_);
  void ensure_open();
  TierAnswer execute(const TierJob& job);
  void finish(TierAnswer answer);

  const Clock& clock_;
  Open open_;                     // worker
  std::unique_ptr<KvTier> tier_;  // worker; null if it could not be opened

  mutable Mutex mutex_;
  CondVar has_job_;
  CondVar has_answer_;
  std::deque<TierJob> asked_ PLUMB_GUARDED_BY(mutex_);
  std::deque<TierJob> writes_ PLUMB_GUARDED_BY(mutex_);
  std::vector<TierAnswer> answers_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_unanswered_ PLUMB_GUARDED_BY(mutex_) = 0;
  TierStats stats_ PLUMB_GUARDED_BY(mutex_);
  bool must_stop_ PLUMB_GUARDED_BY(mutex_) = false;
  std::optional<Clock::TimePoint> finish_by_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_left_out_ PLUMB_GUARDED_BY(mutex_) = 0;  ///< blocks not written at the end
  std::function<void()> wake_;
  std::optional<Thread> thread_;
};

}  // namespace plumb
