// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_store.h"
#include "engine/device_worker.h"
#include "engine/engine_options.h"
#include "engine/engine_stats.h"
#include "engine/kv_cache.h"
#include "engine/memory_plan.h"
#include "engine/request_limits.h"
#include "engine/sequence_queues.h"
#include "engine/step_job.h"
#include "engine/step_runner.h"
#include "engine/tiered_cache.h"
#include "engine/waiting_window.h"
#include "kvcache/kv_event_log.h"
#include "model/model.h"
#include "ops/backend.h"
#include "scheduler/planner.h"
#include "scheduler/queue_forecast.h"

namespace plumb {

/// What the composition root puts together for an engine.
///
/// Ownership  all that is referred to outlives the engine.
struct EngineParts {
  std::unique_ptr<Model> model;
  Backend* backend = nullptr;
  OpTable ops;                        ///< the back end's, or a mix
  const OpTable* meta_ops = nullptr;  ///< the meta back end's: they size the workspace
  const Clock* clock = nullptr;
  EngineObserver* observer = nullptr;  ///< may be null
  std::vector<TokenId> end_tokens;     ///< end-of-generation tokens of model and tokenizer
  /// Of the weights and of what computes with them: what the disk cache is valid for.
  std::string model_id;
  FileStore* files = &system_files();  ///< of the disk cache
};

/// Accepted requests that were never in a step: what the queue limits count. Thread: any.
struct QueueGauge {
  std::atomic<std::int64_t> num_requests{0};
  std::atomic<std::int64_t> num_tokens{0};
  std::atomic<std::int64_t> num_free_rows{0};  ///< after the last step: so many need not wait
};

/// The step loop without its thread: plan, apply, launch, take, tell. In between the device worker
/// computes the step and chooses its tokens; the next one may be planned and launched meanwhile.
/// Thread: engine.
/// Cost    a step allocates one vector for each event, and where a sequence starts or leaves.
class EngineCore {
 public:
  /// Errors kInvalidArgument: options that contradict each other or the model; kUnsupported: ops
  /// that the model needs and `parts.ops` lacks, all of them; kResourceExhausted: too little
  /// memory.
  static Result<std::unique_ptr<EngineCore>> create(const EngineOptions& options,
                                                    EngineParts parts);
  ~EngineCore();

  /// What create() would allocate for a model of the meta back end, whose weights take no memory.
  /// Errors as create()'s about memory.
  static Result<MemoryPlan> plan(const EngineOptions& options, const Model& model,
                                 const OpTable& meta_ops,
                                 std::optional<std::int64_t> free_host_bytes);

  /// Takes a checked request that may produce max_output tokens.
  void add(SeqId id, Request request, std::int64_t max_output, Clock::TimePoint submitted,
           EventSink& sink);
  /// Ends a sequence with that status; an unknown one is ignored.
  void abort(SeqId id, const Status& status);
  /// Ends all sequences with that status; no step is under way afterwards.
  void abort_all(const Status& status);
  /// All that run give their blocks back and wait again, as if there were no room for them.
  /// Requires that no step is under way.
  void retract_all();
  /// A sequence was accepted into a full queue: ends the last of those that were never in a step,
  /// be it this one, with kResourceExhausted. Where tenants take turns, one of the tenant that has
  /// most in the queue for its weight.
  void displace_from_queue(SeqId newcomer);

  /// The tenant that has most in the queue for its weight; valid until the next change.
  std::string_view busiest_tenant() const { return queues_.busiest_tenant(); }

  /// What one that comes now would wait for.
  /// Cost  linear in the running sequences and at most 256 of those that wait for their rows.
  QueueOutlook outlook();

  bool has_work() const {
    return !queues_.empty() || worker_.num_under_way() > 0 || (tiers_ && tiers_->has_work());
  }

  /// Steps that were launched and not taken yet.
  std::int64_t num_under_way() const { return worker_.num_under_way(); }

  /// From now on steps are computed on a thread of their own. Requires that none is under way.
  void start_worker();

  /// Starts what the tiers do by themselves; `wake` is called from there when a step has something
  /// to take.
  void start_tiers(std::function<void()> wake);

  /// The last step could only wait for blocks of the disk: another one is useless until `wake`, a
  /// message, or a deadline.
  bool waits_for_tiers() const { return waits_for_tiers_; }

  /// Takes what the tiers have done by themselves: for a time without steps.
  void poll_tiers();

  /// Copies to the tiers what is still to be copied, waits until it is on the disk or that time has
  /// come, and ends the disk's thread. No step may come any more.
  void finish_tiers(Clock::TimePoint deadline);

  /// Forgets all cached prefixes. Requires no work.
  void flush_cache();

  /// As flush_cache(), and gives the memory of the cache and of the host tier back to the system
  /// until it is used again. Requires no work. Errors kUnsupported: the cache is in the memory of a
  /// device; kUnavailable: the disk tier still writes.
  Status release_cache_memory();

  /// Computes with another model from now on, null for none, and returns the former one. `id` names
  /// its weights: prefixes that other weights have computed are not found any more, here and in the
  /// tiers. Empty for those of create(). Requires no work; a model of the same sizes and layout.
  std::unique_ptr<Model> exchange_model(std::unique_ptr<Model> model, std::string id);

  /// Shows what happened to the prefix cache since the last call to the readers of kv_events().
  void publish_events();

  /// Null unless the options say so. Thread: any.
  const KvEventLog* kv_events() const { return events_.get(); }

  /// Runs one step from its plan to its tokens, or takes the one that is under way; the sinks of
  /// what goes on hear of it before it returns. Errors kDeviceLost: all sequences have ended with
  /// it, and nothing may be computed any more.
  Status step();

  /// As step(), but returns with its step under way where the plan has ended sequences, and leaves
  /// the next step under way where that is of use: where all that it can do is to go on with the
  /// answers of a short step without prompts, and none of them needs to know its last token for
  /// that.
  Status overlapped_step();

  /// Tells the sinks of all that has ended since the last call. Apart from what ends it, so that
  /// whoever has an answer finds it in the figures published before.
  void deliver_ended();

  bool has_ended() const { return !ended_.empty(); }

  /// Totals and present state; `state` is the caller's business.
  EngineStats stats() const;

  const RequestLimits& request_limits() const { return request_limits_; }

  const MemoryPlan& memory_plan() const { return memory_plan_; }

  /// Of the model of create(); others have the same sizes.
  const ModelFacts& model_facts() const { return model_facts_; }

  const QueueGauge& queue() const { return queue_; }

  QueueGauge& queue() { return queue_; }

  /// Errors kInternal: blocks, locks and sequences do not agree.
  Status check_invariants() const;

 private:
  struct Sizes;

  EngineCore(const EngineOptions& options, EngineParts parts, const Sizes& sizes,
             std::unique_ptr<KvCache> cache, Workspace workspace,
             std::array<StepJob, DeviceWorker::kMostSteps> jobs);
  static Status check_parts(const EngineOptions& options, const EngineParts& parts);
  static Sizes choose_sizes(const EngineOptions& options, const Model& model);
  static Result<Sizes> measure(const EngineOptions& options, const Model& model,
                               const OpTable& meta_ops,
                               std::optional<std::int64_t> free_host_bytes);

  Status create_tiers();
  Status advance_tiers();
  void store(Sequence& seq, bool first_to_evict);

  // Plans (engine_plan.cc).
  PlannerState snapshot(Clock::TimePoint now, StepJob* job);
  void snapshot_running(bool needs_reclaimable);
  bool may_start(std::int64_t num_running) const;
  Status apply(const Plan& plan, Clock::TimePoint now, StepJob* job);
  void preempt(Sequence& seq, Clock::TimePoint now, StepStats* stats);
  void start(Sequence& seq, Clock::TimePoint now, StepStats* stats);
  void copy_tail(Sequence& seq);
  PrefixTail find_tail(const Sequence& seq, std::span<const TokenId> next) const;

  // Steps (engine_steps.cc).
  StepJob& next_job();
  Status launch();
  void launch(const Plan& plan, Clock::TimePoint begin, StepJob* job);
  bool may_launch_ahead(const StepJob& under_way) const;
  bool only_goes_on(const Plan& plan);
  Status launch_ahead();
  void build_batch(const Plan& plan, StepJob* job);
  void account(Sequence& seq, std::int64_t num_tokens, StepJob* job);
  bool want_logits(Sequence& seq, StepJob* job);
  StepJob& land();
  Status take();
  void finish_picks(const StepJob& job);
  void release_leaving(const StepJob& job);
  void settle();

  void take_rows(StepJob* job);
  void take_token(Sequence& seq, EmittedToken token, Clock::TimePoint now);
  void append_token(Sequence& seq, EmittedToken token, Clock::TimePoint now);
  void follow_grammar(Sequence& seq, TokenId token);
  void finish(Sequence& seq);
  void give_back(Sequence& seq);
  void deliver(Sequence& seq);
  void forget_unstarted(const Sequence& seq);
  void observe(const StepJob& job);
  void observe_queue(const StepJob& job, std::chrono::nanoseconds step_time);
  std::int64_t expected_steps(const SeqSnapshot& seq) const;

  EngineOptions options_;
  EngineParts parts_;
  const ModelFacts model_facts_;
  std::string weights_id_;  ///< of exchange_model(); empty for the first
  RequestLimits request_limits_;
  MemoryPlan memory_plan_;
  QueueGauge queue_;
  std::unique_ptr<Stream> stream_;      // of copies; steps have one of their own
  std::unique_ptr<KvCache> cache_;      // outlives the sequences, which hold leases of it
  std::unique_ptr<TieredCache> tiers_;  // null without tiers
  std::unique_ptr<KvEventLog> events_;
  std::array<StepJob, DeviceWorker::kMostSteps> jobs_;  ///< used in turns
  std::int64_t next_job_ = 0;
  StepRunner runner_;
  Planner planner_;
  SequenceQueues queues_;
  std::vector<std::unique_ptr<Sequence>> ended_;    ///< their sinks have not heard of it
  std::vector<std::unique_ptr<Sequence>> leaving_;  ///< they have; steps under way use the rest
  WaitingWindow window_;
  QueueForecast forecast_;
  MeanStepTime decode_time_;
  MeanStepTime answer_time_;  ///< of steps without prompts
  RowForecast rows_forecast_;

  std::vector<SeqSnapshot> running_snapshots_;
  std::vector<SeqDeadline> passed_;
  std::vector<std::uint32_t> mask_;  ///< working memory of grammars
  std::int64_t hold_blocks_ = 0;
  std::int64_t num_stalled_steps_ = 0;            ///< the last, as many as had no decode row
  std::int64_t num_fitting_ = 0;                  ///< sequences for which rows and cache have room
  std::int64_t num_unstarted_ = 0;                ///< that wait and were never in a step
  std::vector<Sequence*> tier_window_;            ///< the first of the queue, for the tiers
  std::function<bool(const Sequence&)> is_held_;  ///< it waits for the disk; empty without tiers
  std::int64_t num_held_ = 0;                     ///< waiting sequences that wait for the disk too
  bool waits_for_tiers_ = false;
  EngineStats totals_;
  DeviceWorker worker_;  // last: its thread uses the others
};

}  // namespace plumb
