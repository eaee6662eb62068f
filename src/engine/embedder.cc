// SPDX-License-Identifier: Apache-2.0
#include "engine/embedder.h"

#include <algorithm>
#include <string>
#include <utility>

namespace plumb {

Embedder::Embedder(std::unique_ptr<EmbeddingModel> model, std::int64_t max_waiting,
                   const Clock& clock)
    : model_(std::move(model)),
      max_waiting_(max_waiting),
      clock_(clock),
      thread_("embed", [this] { run(); }) {}

Embedder::~Embedder() {
  {
    const MutexLock lock(mutex_);
    must_stop_ = true;
  }
  has_work_.notify_all();
  thread_.join();
}

std::int64_t Embedder::max_length() const {
  const EmbeddingBatchLimits& limits = model_->limits();
  return std::min(model_->facts().max_context_len,
                  limits.max_length > 0 ? limits.max_length : limits.num_tokens);
}

Status Embedder::check(const EmbeddingJob& job) const {
  const ModelFacts& facts = model_->facts();
  if (job.sequences.empty() || std::ssize(job.sequences) > max_waiting_) {
    return {Code::kInvalidArgument, "a request of " + std::to_string(job.sequences.size()) +
                                        " inputs, expected 1 to " + std::to_string(max_waiting_)};
  }
  for (const std::vector<TokenId>& sequence : job.sequences) {
    const std::int64_t length = std::ssize(sequence);
    if (length < 1 || length > max_length()) {
      return {Code::kInvalidArgument, "an input of " + std::to_string(length) +
                                          " tokens, expected 1 to " + std::to_string(max_length())};
    }
    const bool is_known = std::all_of(sequence.begin(), sequence.end(),
                                      [&](TokenId id) { return id >= 0 && id < facts.vocab_size; });
    if (!is_known) {
      return {Code::kInvalidArgument, "an input holds a token out of range, expected 0 to " +
                                          std::to_string(facts.vocab_size - 1)};
    }
  }
  return {};
}

Result<Embedder::JobId> Embedder::submit(EmbeddingJob job, Callback callback) {
  PLUMB_RETURN_IF_ERROR(check(job));
  const Clock::TimePoint now = clock_.now();
  JobId id = 0;
  {
    const MutexLock lock(mutex_);
    PLUMB_RETURN_IF_ERROR(failure_);
    const std::int64_t num_waiting = stats_.num_waiting + std::ssize(job.sequences);
    if (num_waiting > max_waiting_) {
      return Status{Code::kResourceExhausted,
                    "the queue holds " + std::to_string(stats_.num_waiting) + " of at most " +
                        std::to_string(max_waiting_) + " inputs"};
    }
    id = next_id_++;
    Job& added = jobs_.emplace_back();
    added.id = id;
    added.vectors.resize(job.sequences.size());
    added.sequences = std::move(job.sequences);
    added.callback = std::move(callback);
    added.deadline = job.timeout ? now + *job.timeout : added.deadline;
    stats_.num_waiting = num_waiting;
  }
  has_work_.notify_one();
  return id;
}

void Embedder::drop(std::list<Job>::iterator job) {
  stats_.num_waiting -= std::ssize(job->sequences) - static_cast<std::int64_t>(job->num_started);
  jobs_.erase(job);
}

void Embedder::abort(JobId id) {
  MutexLock lock(mutex_);
  const auto job =
      std::find_if(jobs_.begin(), jobs_.end(), [id](const Job& each) { return each.id == id; });
  if (job != jobs_.end()) {
    drop(job);
  }
  while (is_telling_) {
    has_told_.wait(lock);
  }
}

EmbedderStats Embedder::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void Embedder::end_overdue(std::vector<Ended>* ended) {
  const Clock::TimePoint now = clock_.now();
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    const auto next = std::next(job);
    if (job->deadline <= now) {
      ended->push_back({std::move(job->callback),
                        Status{Code::kDeadlineExceeded, "the time-out passed before the end"}});
      drop(job);
    }
    job = next;
  }
}

// Takes a sequence of each job in turns while the pass has room; the job whose sequence did not fit
// is the first of the next pass.
std::vector<Embedder::Pick> Embedder::pick_batch() {
  const EmbeddingBatchLimits& limits = model_->limits();
  std::vector<Pick> batch;
  const std::int64_t pass_tokens = limits.pass_tokens > 0 ? limits.pass_tokens : limits.num_tokens;
  std::int64_t num_tokens = 0;
  std::size_t num_exhausted = 0;  // jobs in a row that had nothing left
  while (num_exhausted < jobs_.size() && std::ssize(batch) < limits.num_sequences) {
    Job& job = jobs_.front();
    if (job.num_started < job.sequences.size()) {
      std::vector<TokenId>& tokens = job.sequences[job.num_started];
      num_tokens += std::ssize(tokens);
      if (num_tokens > pass_tokens && !batch.empty()) {
        break;
      }
      batch.push_back({job.id, job.num_started++, std::move(tokens)});
      num_exhausted = 0;
    } else {
      ++num_exhausted;
    }
    jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
  }
  stats_.num_waiting -= std::ssize(batch);
  return batch;
}

void Embedder::take_vectors(const std::vector<Pick>& batch, EmbeddingOutcome outcome,
                            std::vector<Ended>* ended) {
  if (!outcome.ok()) {
    failure_ = outcome.status();
    stats_.has_failed = true;
    fail_all(failure_, ended);
    return;
  }
  stats_.num_batches += 1;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    stats_.num_sequences += 1;
    stats_.num_tokens += std::ssize(batch[i].tokens);
    const auto job = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const Job& each) { return each.id == batch[i].job; });
    if (job == jobs_.end()) {
      continue;  // aborted meanwhile
    }
    job->vectors[batch[i].index] = std::move(outcome.value()[i]);
    if (++job->num_done == job->sequences.size()) {
      ended->push_back({std::move(job->callback), std::move(job->vectors)});
      drop(job);
    }
  }
}

void Embedder::fail_all(const Status& status, std::vector<Ended>* ended) {
  for (Job& job : jobs_) {
    ended->push_back({std::move(job.callback), status});
  }
  jobs_.clear();
  stats_.num_waiting = 0;
}

void Embedder::run() {
  std::vector<Pick> batch;
  std::optional<EmbeddingOutcome> outcome;
  for (bool is_running = true; is_running;) {
    std::vector<Ended> ended;
    {
      MutexLock lock(mutex_);
      if (outcome.has_value()) {
        take_vectors(batch, *std::exchange(outcome, std::nullopt), &ended);
      }
      while (ended.empty() && jobs_.empty() && !must_stop_) {
        has_work_.wait(lock);
      }
      end_overdue(&ended);
      is_running = !must_stop_;
      if (must_stop_) {
        fail_all({Code::kUnavailable, "the server is shutting down"}, &ended);
      }
      batch = pick_batch();
      is_telling_ = !ended.empty();
    }
    for (Ended& job : ended) {
      job.callback(std::move(job.outcome));
    }
    if (!ended.empty()) {
      const MutexLock lock(mutex_);
      is_telling_ = false;
      has_told_.notify_all();
    }
    if (!batch.empty()) {
      std::vector<std::span<const TokenId>> sequences;
      sequences.reserve(batch.size());
      for (const Pick& pick : batch) {
        sequences.emplace_back(pick.tokens);
      }
      outcome = model_->embed(sequences);
    }
  }
}

}  // namespace plumb
