// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/token_id.h"
#include "engine/embedding_model.h"

namespace plumb {

/// The texts of one request.
struct EmbeddingJob {
  std::vector<std::vector<TokenId>> sequences;
  std::optional<std::chrono::milliseconds> timeout{};
};

/// One vector for each sequence of a job in their order, or why there is none.
using EmbeddingOutcome = Result<std::vector<std::vector<float>>>;

struct EmbedderStats {
  std::int64_t num_waiting = 0;    ///< sequences accepted and not computed yet
  std::int64_t num_sequences = 0;  ///< computed since the start
  std::int64_t num_tokens = 0;     ///< of these
  std::int64_t num_batches = 0;
  bool has_failed = false;  ///< the device is lost
};

/// Batches the sequences of all callers into packed passes and computes them on a thread of its
/// own. Jobs take turns, a sequence each, so that a large one delays a small one by a pass at most.
///
/// Ownership  callbacks are called once, on the embedder's thread, unless the job was aborted.
/// Thread     any.
class Embedder {
 public:
  using JobId = std::uint64_t;
  using Callback = std::function<void(EmbeddingOutcome)>;

  /// Starts the thread. `max_waiting`: sequences that may wait at once.
  Embedder(std::unique_ptr<EmbeddingModel> model, std::int64_t max_waiting, const Clock& clock);
  /// Ends all jobs (kUnavailable) and joins the thread.
  ~Embedder();
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  const EmbeddingModel& model() const { return *model_; }

  std::int64_t max_waiting() const { return max_waiting_; }

  /// Tokens that a sequence may have.
  std::int64_t max_length() const;

  /// Errors kInvalidArgument: no sequence, an empty one, a token out of range, one that is too
  /// long, or more sequences than may ever wait; kResourceExhausted: the queue is full;
  /// kDeviceLost. After an error the callback is not called.
  Result<JobId> submit(EmbeddingJob job, Callback callback);

  /// After this the job's callback is not called, and no call of it is under way: one that has
  /// begun is waited for. What has ended already is ignored. Requires no callback calls this.
  void abort(JobId id);

  EmbedderStats stats() const;

 private:
  struct Job {
    JobId id = 0;
    std::vector<std::vector<TokenId>> sequences;
    std::vector<std::vector<float>> vectors;
    std::size_t num_started = 0;
    std::size_t num_done = 0;
    Clock::TimePoint deadline = Clock::TimePoint::max();
    Callback callback;
  };

  /// A sequence of the pass under way.
  struct Pick {
    JobId job = 0;
    std::size_t index = 0;
    std::vector<TokenId> tokens;
  };

  /// A job that has ended, out of the list.
  struct Ended {
    Callback callback;
    EmbeddingOutcome outcome;
  };

  Status check(const EmbeddingJob& job) const;
  void run();
  std::vector<Pick> pick_batch() PLUMB_REQUIRES(mutex_);
  void end_overdue(std::vector<Ended>* ended) PLUMB_REQUIRES(mutex_);
  void take_vectors(const std::vector<Pick>& batch, EmbeddingOutcome outcome,
                    std::vector<Ended>* ended) PLUMB_REQUIRES(mutex_);
  void fail_all(const Status& status, std::vector<Ended>* ended) PLUMB_REQUIRES(mutex_);
  void drop(std::list<Job>::iterator job) PLUMB_REQUIRES(mutex_);

  const std::unique_ptr<EmbeddingModel> model_;
  const std::int64_t max_waiting_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar has_work_;
  std::list<Job> jobs_ PLUMB_GUARDED_BY(mutex_);  // the next one to take a sequence of first
  JobId next_id_ PLUMB_GUARDED_BY(mutex_) = 1;
  EmbedderStats stats_ PLUMB_GUARDED_BY(mutex_);
  Status failure_ PLUMB_GUARDED_BY(mutex_);
  bool is_telling_ PLUMB_GUARDED_BY(mutex_) = false;  // callbacks run
  CondVar has_told_;                                  // they do not any more
  bool must_stop_ PLUMB_GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace plumb
