// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"
#include "engine/engine_core.h"
#include "engine/engine_options.h"
#include "engine/engine_stats.h"
#include "engine/memory_plan.h"
#include "engine/request_limits.h"
#include "request/request.h"

namespace plumb {

/// What becomes of the sequences that run when the engine pauses.
enum class PauseMode : unsigned char {
  kInPlace,  ///< they keep their blocks and go on where they were
  kRetract,  ///< they give their blocks back and wait again
};

/// Tokens in, tokens out: batches the sequences of all callers and computes them step by step.
///
/// One thread owns all request state; callers leave messages for it. A second one computes, so that
/// the next step of running answers is under way before what the last one chose is passed on.
/// Without start() nothing runs by itself: tests call step() or overlapped_step().
/// Ownership  sinks outlive their last event; a sink is not touched after it.
/// Thread     any, except the two.
class Engine {
 public:
  /// Sizes everything by a dry run, allocates it, and starts no thread. Errors as
  /// EngineCore::create().
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options, EngineParts parts);
  /// Ends all sequences (kUnavailable) and joins the thread.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts the engine's thread and the device's.
  void start();

  /// Accepts a request; its events go to `sink`, on the engine's thread, possibly before this
  /// returns.
  /// Errors  kInvalidArgument: see check_request(). kResourceExhausted: the queue is full.
  ///         kUnavailable: draining or stopped. kDeviceLost: the engine has failed. After an error
  ///         the sink hears nothing.
  Result<SeqId> submit(Request request, EventSink& sink);

  /// Ends a sequence before the next step, and tells its sink: kAbort with that status. What has
  /// ended already, or never was, is ignored.
  void abort(SeqId id, Status status = {Code::kCancelled, "cancelled"});

  /// Accepts nothing more and finishes what it has.
  void drain();

  /// Begins no step from now on; stats().is_paused says when those under way have ended. Requests
  /// are accepted, wait, and can be aborted; what their time runs out for ends when it goes on.
  void pause(PauseMode mode);
  /// Goes on after pause().
  void resume();

  /// Waits until no sequence is left; false if the deadline passed first.
  /// Requires the thread runs.
  bool wait_until_idle(Clock::TimePoint deadline);

  /// Ends all sequences (kUnavailable) and the thread, and keeps what was computed in the tiers,
  /// as the write policy says: the disk has 5 s to write it, besides the errand under way.
  /// Idempotent.
  void stop();

  /// Keeps all out, so that what the engine computes with can be changed: until open() requests are
  /// refused (kUnavailable, with that reason) and its threads touch nothing. Once more: only the
  /// reason changes.
  /// Errors  kInvalidArgument: sequences run or wait, says how many. kUnavailable: stopped or
  ///         failed.
  Status close(std::string reason);

  /// Lets requests in again.
  void open();

  /// As those of EngineCore. Require close().
  /// Thread  any single one.
  void flush_closed_cache();
  Status release_cache_memory();
  std::unique_ptr<Model> exchange_model(std::unique_ptr<Model> model, std::string id);

  /// Forgets all cached prefixes, so that none is reused any more.
  /// Errors kUnavailable: a sequence runs or waits; nothing is forgotten.
  Status flush_cache();

  /// The events of the prefix cache, oldest first; null unless EngineOptions::kv_events.
  const KvEventLog* kv_events() const { return core_->kv_events(); }

  EngineStats stats() const;

  /// When it is worth to come again after a refusal: when those who wait now will have begun, as
  /// far as that can be foreseen. Units  1 s to 60 s.
  std::chrono::seconds retry_after() const;

  /// For a watchdog: lock-free, also while a step takes long.
  Heartbeat heartbeat() const;

  /// Whether anything looks at the priority of requests: the order of the queue, or what leaves the
  /// prefix cache first.
  bool uses_priority() const;

  const RequestLimits& limits() const { return core_->request_limits(); }

  const MemoryPlan& memory_plan() const { return core_->memory_plan(); }

  const ModelFacts& model_facts() const { return core_->model_facts(); }

  const EngineOptions& options() const { return options_; }

  /// Requests that may wait besides those computed.
  std::int64_t max_queued_requests() const { return max_queued_requests_; }

  /// Takes the messages that wait and runs one step if there is work; false if there was none.
  /// Requires start() was not called. Thread: one at a time.
  bool step();

  /// As step(), the way the engine's thread does it: the next step may be under way when it
  /// returns. See EngineCore::overlapped_step().
  bool overlapped_step();

  /// Steps that overlapped_step() left under way. Thread: as step().
  std::int64_t num_under_way() const { return core_->num_under_way(); }

  /// Errors kInternal: bookkeeping is broken. Thread: as step().
  Status check_invariants() const { return core_->check_invariants(); }

 private:
  struct Submission {
    SeqId id{};
    Request request;
    std::int64_t max_output = 0;
    Clock::TimePoint submitted;
    EventSink* sink = nullptr;
    bool is_beyond_limit = false;  ///< takes the place of a less important one, or has none
  };

  // Refused requests by reason. Thread: any.
  struct Refusals {
    std::atomic<std::int64_t> by_requests{0};
    std::atomic<std::int64_t> by_tokens{0};
    std::atomic<std::int64_t> by_ttft{0};
  };

  struct Abort {
    SeqId id{};
    Status status;
  };

  // Messages to the engine's thread, in order of arrival: a submission precedes its abort.
  struct Mail {
    std::vector<Submission> submissions;
    std::vector<Abort> aborts;

    bool empty() const { return submissions.empty() && aborts.empty(); }
  };

  Engine(const EngineOptions& options, const Clock& clock, std::unique_ptr<EngineCore> core);
  std::int64_t queue_limit() const;
  std::optional<std::chrono::milliseconds> predicted_wait() const;
  Result<bool> reserve_queue_place(const Request& request);
  bool may_displace(const Request& request) const;
  Status check_wait(const Request& request);
  void release_queue_place(std::int64_t num_tokens);
  void run();
  bool one_round(bool overlaps);
  Status rest(PauseMode mode);
  bool has_nothing_to_do() const PLUMB_REQUIRES(mutex_);
  bool wait_for_work();
  void take_mail();
  void fail(const Status& status);
  void publish();
  void publish_outlook();
  void check_idle();
  void check_closed() const;

  const EngineOptions options_;
  const Clock& clock_;
  const std::int64_t max_queued_requests_;
  const std::unique_ptr<EngineCore> core_;

  mutable Mutex mutex_;
  CondVar has_mail_;
  CondVar is_idle_;
  Mail mail_ PLUMB_GUARDED_BY(mutex_);
  std::uint64_t next_id_ PLUMB_GUARDED_BY(mutex_) = 1;
  EngineState state_ PLUMB_GUARDED_BY(mutex_) = EngineState::kServing;
  Status failure_ PLUMB_GUARDED_BY(mutex_);
  EngineStats stats_ PLUMB_GUARDED_BY(mutex_);
  QueueOutlook outlook_ PLUMB_GUARDED_BY(mutex_);
  std::string busiest_tenant_ PLUMB_GUARDED_BY(mutex_);
  bool must_stop_ PLUMB_GUARDED_BY(mutex_) = false;
  bool tiers_woke_ PLUMB_GUARDED_BY(mutex_) = false;
  std::optional<std::string> closed_ PLUMB_GUARDED_BY(mutex_);  // the reason, while it is closed
  std::optional<PauseMode> pause_ PLUMB_GUARDED_BY(mutex_);
  bool is_at_rest_ PLUMB_GUARDED_BY(mutex_) = false;  // the thread has done what pause_ says
  bool thread_idle_ PLUMB_GUARDED_BY(mutex_) = true;

  Refusals refusals_;
  Mail taken_;  // engine thread: kept for its memory
  std::atomic<std::int64_t> num_beats_{0};
  std::atomic<bool> is_busy_{false};
  std::atomic<Clock::TimePoint::rep> last_beat_{0};
  Mutex thread_mutex_;  // start and stop
  std::optional<Thread> thread_ PLUMB_GUARDED_BY(thread_mutex_);
};

}  // namespace plumb
