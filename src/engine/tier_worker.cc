// SPDX-License-Identifier: Apache-2.0
#include "engine/tier_worker.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/log.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxJobs = 4096;

}  // namespace

TierWorker::TierWorker(Open open, const Clock& clock) : clock_(clock), open_(std::move(open)) {}

TierWorker::~TierWorker() {
  {
    const MutexLock lock(mutex_);
    must_stop_ = true;
    asked_.clear();
  }
  has_job_.notify_one();
  if (thread_) {
    thread_->join();
  } else {
    run();  // what is to be written
  }
}

void TierWorker::start(std::function<void()> wake) {
  wake_ = std::move(wake);
  thread_.emplace("kv-tier", [this] { run(); });
}

Status TierWorker::submit(TierJob&& job) {
  {
    const MutexLock lock(mutex_);
    if (asked_.size() + writes_.size() >= kMaxJobs) {
      return {Code::kResourceExhausted,
              "the tier has its limit of " + std::to_string(kMaxJobs) + " errands"};
    }
    const bool is_asked = job.kind == TierJob::Kind::kLookUp || job.kind == TierJob::Kind::kRead;
    (is_asked ? asked_ : writes_).push_back(std::move(job));
    ++num_unanswered_;
  }
  has_job_.notify_one();
  return {};
}

void TierWorker::finish_by(Clock::TimePoint deadline, std::int64_t num_left_out) {
  const MutexLock lock(mutex_);
  finish_by_ = deadline;
  num_left_out_ = num_left_out;
}

bool TierWorker::wait() {
  if (!has_thread()) {
    run_pending();
  }
  MutexLock lock(mutex_);
  while (answers_.empty() && num_unanswered_ > 0) {
    has_answer_.wait(lock);
  }
  return !answers_.empty();
}

// Leaves out what is to be written after the time to stop has passed.
void TierWorker::drop_late_writes() {
  if (!must_stop_ || !finish_by_ || clock_.now() < *finish_by_) {
    return;
  }
  for (const TierJob& job : writes_) {
    num_left_out_ += std::ssize(job.blocks);
  }
  std::erase_if(writes_, [](const TierJob& job) { return job.kind == TierJob::Kind::kWrite; });
}

std::optional<TierJob> TierWorker::next_job() {
  std::deque<TierJob>& from = asked_.empty() ? writes_ : asked_;
  if (from.empty()) {
    return std::nullopt;
  }
  std::optional<TierJob> job(std::move(from.front()));
  from.pop_front();
  return job;
}

void TierWorker::run() {
  ensure_open();
  for (;;) {
    std::optional<TierJob> job;
    std::int64_t num_left_out = 0;
    {
      MutexLock lock(mutex_);
      while (!must_stop_ && asked_.empty() && writes_.empty()) {
        has_job_.wait(lock);
      }
      drop_late_writes();
      job = next_job();
      num_left_out = num_left_out_;
    }
    if (!job) {
      if (num_left_out > 0) {
        log_warning("disk cache: the end came before all was written",
                    {{"blocks_left_out", std::to_string(num_left_out)}});
      }
      return;
    }
    finish(execute(*job));
  }
}

void TierWorker::run_pending() {
  ensure_open();
  for (;;) {
    std::optional<TierJob> job;
    {
      const MutexLock lock(mutex_);
      job = next_job();
    }
    if (!job) {
      return;
    }
    finish(execute(*job));
  }
}

void TierWorker::ensure_open() {
  if (!open_) {
    return;
  }
  Result<std::unique_ptr<KvTier>> tier = std::exchange(open_, nullptr)();
  if (tier.ok()) {
    tier_ = std::move(tier).value();
    TierAnswer opened;
    opened.kind = TierJob::Kind::kOpen;
    opened.events = tier_->take_events();
    if (!opened.events.empty()) {
      finish(std::move(opened));
      return;
    }
  } else {
    log_warning("disk cache: not used", {{"reason", tier.status().message()}});
  }
  TierStats unusable;
  unusable.can_write = false;
  unusable.num_errors = 1;
  const TierStats stats = tier_ != nullptr ? tier_->stats() : unusable;
  const MutexLock lock(mutex_);
  stats_ = stats;
}

TierAnswer TierWorker::execute(const TierJob& job) {
  TierAnswer answer{job.kind, job.ticket, 0, {}, {}};
  if (tier_ == nullptr) {
    return answer;
  }
  const Clock::TimePoint begin = clock_.now();
  switch (job.kind) {
    case TierJob::Kind::kLookUp:
      answer.count = tier_->exists(job.chain);
      break;
    case TierJob::Kind::kRead:
      answer.count = tier_->get(job.chain, job.buffers);
      break;
    case TierJob::Kind::kWrite:
      answer.count = tier_->put(job.blocks);
      break;
    case TierJob::Kind::kClear:
      tier_->clear();
      break;
    case TierJob::Kind::kOpen:
      break;
  }
  answer.time = clock_.now() - begin;
  answer.events = tier_->take_events();
  return answer;
}

void TierWorker::finish(TierAnswer answer) {
  const TierStats stats = tier_ != nullptr ? tier_->stats() : TierWorker::stats();
  {
    const MutexLock lock(mutex_);
    num_unanswered_ -= answer.kind == TierJob::Kind::kOpen ? 0 : 1;
    answers_.push_back(std::move(answer));
    stats_ = stats;
  }
  has_answer_.notify_one();
  if (wake_) {
    wake_();
  }
}

void TierWorker::take_answers(std::vector<TierAnswer>* out) {
  const MutexLock lock(mutex_);
  std::move(answers_.begin(), answers_.end(), std::back_inserter(*out));
  answers_.clear();
}

TierStats TierWorker::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace plumb
