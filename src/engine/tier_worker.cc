// SPDX-License-Identifier: Apache-2.0
#include "engine/tier_worker.h"

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
  }
  has_job_.notify_one();
  return {};
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
    {
      MutexLock lock(mutex_);
      while (!must_stop_ && asked_.empty() && writes_.empty()) {
        has_job_.wait(lock);
      }
      job = next_job();
    }
    if (!job) {
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
  TierStats stats;
  if (tier.ok()) {
    tier_ = std::move(tier).value();
    stats = tier_->stats();
  } else {
    stats.can_write = false;
    stats.num_errors = 1;
    log_warning("disk cache: not used", {{"reason", tier.status().message()}});
  }
  const MutexLock lock(mutex_);
  stats_ = stats;
}

TierAnswer TierWorker::execute(const TierJob& job) {
  TierAnswer answer{job.kind, job.ticket, 0, {}};
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
  }
  answer.time = clock_.now() - begin;
  return answer;
}

void TierWorker::finish(const TierAnswer& answer) {
  const TierStats stats = tier_ != nullptr ? tier_->stats() : TierWorker::stats();
  {
    const MutexLock lock(mutex_);
    answers_.push_back(answer);
    stats_ = stats;
  }
  if (wake_) {
    wake_();
  }
}

void TierWorker::take_answers(std::vector<TierAnswer>* out) {
  const MutexLock lock(mutex_);
  out->insert(out->end(), answers_.begin(), answers_.end());
  answers_.clear();
}

TierStats TierWorker::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace plumb
