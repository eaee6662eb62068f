// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace plumb {
namespace {

// Requests that a full queue takes so that the engine's thread can compare them with the others.
constexpr std::int64_t kMaxBeyondLimit = 64;
constexpr std::chrono::milliseconds kTierPatience{10};
// What a stopped engine gives the disk to write the last prefixes.
constexpr std::chrono::seconds kTierFinishTime{5};
// Of the default length: the largest request of the API is a list of that many prompts.
constexpr std::int64_t kMinQueue = 2048;

}  // namespace

std::string_view to_text(EngineState state) {
  switch (state) {
    case EngineState::kServing:
      return "serving";
    case EngineState::kDraining:
      return "draining";
    case EngineState::kStopped:
      return "stopped";
    case EngineState::kFailed:
      return "failed";
  }
  return "";
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options, EngineParts parts) {
  const Clock& clock = *parts.clock;
  PLUMB_ASSIGN(std::unique_ptr<EngineCore> core, EngineCore::create(options, std::move(parts)));
  return std::unique_ptr<Engine>(new Engine(options, clock, std::move(core)));
}

Engine::Engine(const EngineOptions& options, const Clock& clock, std::unique_ptr<EngineCore> core)
    : options_(options),
      clock_(clock),
      max_queued_requests_(options.max_queued_requests > 0
                               ? options.max_queued_requests
                               : std::max(4 * options.max_num_seqs, kMinQueue)),
      core_(std::move(core)) {
  publish();
}

Engine::~Engine() {
  stop();
}

void Engine::start() {
  const MutexLock lock(thread_mutex_);
  PLUMB_CHECK(!thread_, "the engine's thread is started twice");
  core_->start_tiers([this] {
    {
      const MutexLock tier_lock(mutex_);
      tiers_woke_ = true;
    }
    has_mail_.notify_one();
  });
  core_->start_worker();
  thread_.emplace("engine", [this] { run(); });
}

Result<SeqId> Engine::submit(Request request, EventSink& sink) {
  PLUMB_ASSIGN(const std::int64_t max_output, check_request(request, core_->request_limits()));
  const std::int64_t num_tokens = std::ssize(request.prompt);
  PLUMB_RETURN_IF_ERROR(check_wait(request));
  PLUMB_ASSIGN(const bool is_beyond_limit, reserve_queue_place(request));
  SeqId id{};
  {
    const MutexLock lock(mutex_);
    if (state_ != EngineState::kServing) {
      release_queue_place(num_tokens);
      return state_ == EngineState::kFailed
                 ? failure_
                 : Status{Code::kUnavailable, "the engine is " + std::string(to_text(state_)) +
                                                  " and accepts no requests"};
    }
    if (closed_.has_value()) {
      release_queue_place(num_tokens);
      return Status{Code::kUnavailable, *closed_};
    }
    id = SeqId{next_id_++};
    mail_.submissions.push_back(
        {id, std::move(request), max_output, clock_.now(), &sink, is_beyond_limit});
  }
  has_mail_.notify_one();
  return id;
}

// Refuses what would wait longer than its queue timeout, or the server, allows.
Status Engine::check_wait(const Request& request) {
  const auto least_of = [](std::chrono::milliseconds a, std::chrono::milliseconds b) {
    return a.count() == 0 || b.count() == 0 ? std::max(a, b) : std::min(a, b);
  };
  const std::chrono::milliseconds limit =
      least_of(least_of(request.queue_timeout.value_or(std::chrono::milliseconds(0)),
                        options_.queue_timeout),
               options_.scheduler.max_ttft);
  const std::optional<std::chrono::milliseconds> wait = predicted_wait();
  if (limit.count() == 0 || !wait.has_value() || *wait <= limit) {
    return {};
  }
  refusals_.by_ttft.fetch_add(1, std::memory_order_relaxed);
  const QueueGauge& queue = core_->queue();
  return {Code::kResourceExhausted,
          "the queue will probably take " + std::to_string(wait->count()) + " ms (" +
              std::to_string(queue.num_requests.load(std::memory_order_relaxed)) +
              " requests with " + std::to_string(queue.num_tokens.load(std::memory_order_relaxed)) +
              " prompt tokens wait), the limit is " + std::to_string(limit.count()) +
              " ms; come again later or allow more time"};
}

// Of a request that comes now, as if it were the last of all.
std::optional<std::chrono::milliseconds> Engine::predicted_wait() const {
  const QueueGauge& queue = core_->queue();
  const MutexLock lock(mutex_);
  return outlook_.wait(queue.num_requests.load(std::memory_order_relaxed),
                       queue.num_tokens.load(std::memory_order_relaxed));
}

// Requests without a step that are accepted: those that wait, and those that will have a free row.
std::int64_t Engine::queue_limit() const {
  return max_queued_requests_ + core_->queue().num_free_rows.load(std::memory_order_relaxed);
}

// Whether in a full queue the engine's thread has to compare the request with the others.
bool Engine::may_displace(const Request& request) const {
  if (plumb::uses_priority(options_.scheduler.schedule_policy)) {
    return true;
  }
  const MutexLock lock(mutex_);
  return options_.scheduler.tenant_fairness && request.tenant != busiest_tenant_;
}

// True where the queue is full of requests and importance or fairness decides who must go.
Result<bool> Engine::reserve_queue_place(const Request& request) {
  const std::int64_t num_tokens = std::ssize(request.prompt);
  QueueGauge& queue = core_->queue();
  const std::int64_t requests = queue.num_requests.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t tokens = queue.num_tokens.fetch_add(num_tokens, std::memory_order_relaxed);
  if (options_.max_queued_tokens > 0 && tokens > 0 &&
      tokens + num_tokens > options_.max_queued_tokens) {
    release_queue_place(num_tokens);
    refusals_.by_tokens.fetch_add(1, std::memory_order_relaxed);
    return Status{Code::kResourceExhausted, "queue is full: " + std::to_string(tokens) +
                                                " prompt tokens wait, the limit is " +
                                                std::to_string(options_.max_queued_tokens)};
  }
  const std::int64_t limit = queue_limit();
  if (requests < limit) {
    return false;
  }
  if (requests < limit + kMaxBeyondLimit && may_displace(request)) {
    return true;
  }
  release_queue_place(num_tokens);
  refusals_.by_requests.fetch_add(1, std::memory_order_relaxed);
  return Status{Code::kResourceExhausted, "queue is full: " + std::to_string(requests) +
                                              " requests wait, the limit is " +
                                              std::to_string(max_queued_requests_)};
}

void Engine::release_queue_place(std::int64_t num_tokens) {
  core_->queue().num_requests.fetch_sub(1, std::memory_order_relaxed);
  core_->queue().num_tokens.fetch_sub(num_tokens, std::memory_order_relaxed);
}

void Engine::abort(SeqId id, Status status) {
  {
    const MutexLock lock(mutex_);
    if (state_ == EngineState::kStopped || state_ == EngineState::kFailed) {
      return;
    }
    mail_.aborts.push_back({id, std::move(status)});
  }
  has_mail_.notify_one();
}

void Engine::drain() {
  const MutexLock lock(mutex_);
  if (state_ == EngineState::kServing) {
    state_ = EngineState::kDraining;
  }
}

void Engine::pause(PauseMode mode) {
  {
    const MutexLock lock(mutex_);
    pause_ = mode;
    is_at_rest_ = false;
  }
  has_mail_.notify_one();
}

void Engine::resume() {
  {
    const MutexLock lock(mutex_);
    pause_.reset();
    is_at_rest_ = false;
  }
  has_mail_.notify_one();
}

bool Engine::wait_until_idle(Clock::TimePoint deadline) {
  MutexLock lock(mutex_);
  while (!thread_idle_ || !mail_.empty()) {
    if (!is_idle_.wait_until(lock, deadline)) {
      return thread_idle_ && mail_.empty();
    }
  }
  return true;
}

void Engine::stop() {
  {
    const MutexLock lock(mutex_);
    must_stop_ = true;
    if (state_ != EngineState::kFailed) {
      state_ = EngineState::kStopped;
    }
  }
  has_mail_.notify_one();
  const MutexLock lock(thread_mutex_);
  if (thread_ && thread_->joinable()) {
    thread_->join();
  }
  take_mail();  // what came in last still gets its last event
  // First, so that what they have computed is kept.
  core_->abort_all({Code::kUnavailable, "the engine is stopped"});
  publish();
  core_->deliver_ended();
  core_->finish_tiers(clock_.now() + kTierFinishTime);
  publish();
}

// While the thread is idle, and the mutex keeps it from waking, nobody else touches the core.
Status Engine::flush_cache() {
  const MutexLock lock(mutex_);
  if (must_stop_) {
    return {Code::kUnavailable, "the engine is stopped"};
  }
  if (closed_.has_value()) {
    return {Code::kUnavailable, *closed_};
  }
  if (!thread_idle_ || !mail_.empty() || core_->has_work()) {
    return {Code::kUnavailable, "the cache is in use: a request runs or waits"};
  }
  core_->flush_cache();
  stats_ = core_->stats();
  return {};
}

EngineStats Engine::stats() const {
  const MutexLock lock(mutex_);
  EngineStats stats = stats_;
  stats.state = state_;
  // Nothing runs or waits in a closed engine, whose thread sleeps.
  stats.is_paused = is_at_rest_ || (pause_.has_value() && closed_.has_value());
  stats.num_waiting += std::ssize(mail_.submissions);
  stats.num_refused_requests = refusals_.by_requests.load(std::memory_order_relaxed);
  stats.num_refused_tokens = refusals_.by_tokens.load(std::memory_order_relaxed);
  stats.num_refused_ttft = refusals_.by_ttft.load(std::memory_order_relaxed);
  const QueueGauge& queue = core_->queue();
  stats.predicted_ttft = outlook_.wait(queue.num_requests.load(std::memory_order_relaxed),
                                       queue.num_tokens.load(std::memory_order_relaxed));
  return stats;
}

std::chrono::seconds Engine::retry_after() const {
  constexpr std::chrono::seconds kLeast(1);
  constexpr std::chrono::seconds kMost(60);
  const std::chrono::milliseconds wait = predicted_wait().value_or(std::chrono::milliseconds(0));
  return std::clamp(std::chrono::ceil<std::chrono::seconds>(wait), kLeast, kMost);
}

bool Engine::uses_priority() const {
  return plumb::uses_priority(options_.scheduler.schedule_policy) ||
         (options_.prefix_cache && options_.evict_policy == EvictStrategy::kPriority);
}

Heartbeat Engine::heartbeat() const {
  Heartbeat beat;
  beat.num_beats = num_beats_.load(std::memory_order_relaxed);
  beat.is_busy = is_busy_.load(std::memory_order_relaxed);
  beat.last_beat =
      Clock::TimePoint(Clock::TimePoint::duration(last_beat_.load(std::memory_order_relaxed)));
  return beat;
}

void Engine::take_mail() {
  taken_.submissions.clear();
  taken_.aborts.clear();
  {
    const MutexLock lock(mutex_);
    std::swap(taken_, mail_);
  }
  for (Submission& s : taken_.submissions) {
    core_->add(s.id, std::move(s.request), s.max_output, s.submitted, *s.sink);
    if (s.is_beyond_limit &&
        core_->queue().num_requests.load(std::memory_order_relaxed) > queue_limit()) {
      core_->displace_from_queue(s.id);
    }
  }
  for (const Abort& abort : taken_.aborts) {
    core_->abort(abort.id, abort.status);
  }
  if (!taken_.empty()) {
    publish_outlook();  // a step may take long
  }
}

bool Engine::step() {
  return one_round(false);
}

bool Engine::overlapped_step() {
  return one_round(true);
}

bool Engine::one_round(bool overlaps) {
  last_beat_.store(clock_.now().time_since_epoch().count(), std::memory_order_relaxed);
  num_beats_.fetch_add(1, std::memory_order_relaxed);
  is_busy_.store(true, std::memory_order_relaxed);
  take_mail();
  if (core_->has_ended()) {
    publish();
    core_->deliver_ended();
  }
  std::optional<PauseMode> pause;
  {
    const MutexLock lock(mutex_);
    pause = pause_;
  }
  const bool has_work = core_->has_work();
  if (has_work || pause.has_value()) {
    const Status status = pause.has_value() ? rest(*pause)
                          : overlaps        ? core_->overlapped_step()
                                            : core_->step();
    if (!status.ok()) {
      fail(status);
    }
  } else {
    core_->poll_tiers();
  }
  core_->publish_events();
  if (!core_->has_work()) {
    check_idle();
  }
  publish();
  core_->deliver_ended();
  is_busy_.store(false, std::memory_order_relaxed);
  return has_work && !pause.has_value();
}

// Takes the steps that are under way; then there is nothing more to do.
Status Engine::rest(PauseMode mode) {
  if (core_->num_under_way() > 0) {
    return core_->step();
  }
  if (mode == PauseMode::kRetract) {
    core_->retract_all();
  }
  core_->poll_tiers();
  const MutexLock lock(mutex_);
  is_at_rest_ = pause_ == mode;  // unless it was told otherwise meanwhile
  return {};
}

void Engine::check_idle() {
#ifndef NDEBUG
  const Status status = core_->check_invariants();
  PLUMB_CHECK(status.ok(), status.message());
#endif
}

void Engine::fail(const Status& status) {
  log_error("engine failed",
            {{"status", std::string(to_text(status.code()))}, {"message", status.message()}});
  {
    const MutexLock lock(mutex_);
    state_ = EngineState::kFailed;
    failure_ = status;
  }
  take_mail();
  core_->abort_all(status);
}

void Engine::publish() {
  const EngineStats stats = core_->stats();
  core_->queue().num_free_rows.store(options_.max_num_seqs - stats.num_running,
                                     std::memory_order_relaxed);
  publish_outlook();
  const MutexLock lock(mutex_);
  stats_ = stats;
}

void Engine::publish_outlook() {
  const QueueOutlook outlook = core_->outlook();
  const std::string_view busiest = core_->busiest_tenant();
  const MutexLock lock(mutex_);
  outlook_ = outlook;
  busiest_tenant_ = busiest;
}

void Engine::run() {
  while (wait_for_work()) {
    overlapped_step();
  }
}

bool Engine::has_nothing_to_do() const {
  return pause_.has_value() ? is_at_rest_ : thread_idle_;
}

// Sleeps while there is nothing to do; false when the thread must end.
bool Engine::wait_for_work() {
  MutexLock lock(mutex_);
  thread_idle_ = !core_->has_work();
  if (thread_idle_ && mail_.empty()) {
    is_idle_.notify_all();
  }
  while (!must_stop_ &&
         (closed_.has_value() || (has_nothing_to_do() && mail_.empty() && !tiers_woke_))) {
    has_mail_.wait(lock);
  }
  // Blocks come from the disk, or a deadline passes; a look now and then costs nothing.
  if (core_->waits_for_tiers() && mail_.empty() && !tiers_woke_ && !must_stop_) {
    has_mail_.wait_until(lock, clock_.now() + kTierPatience);
  }
  tiers_woke_ = false;
  thread_idle_ = false;
  if (must_stop_) {
    thread_idle_ = true;
    is_idle_.notify_all();
  }
  return !must_stop_;
}

}  // namespace plumb
