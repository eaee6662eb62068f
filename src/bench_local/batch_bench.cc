// SPDX-License-Identifier: Apache-2.0
#include "bench_local/batch_bench.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/mutex.h"
#include "base/rng.h"

namespace plumb {
namespace {

double seconds_between(Clock::TimePoint begin, Clock::TimePoint end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Waits for the first and last tokens of a batch. The engine's thread writes, the bench's thread
// waits.
class BatchSink final : public EventSink {
 public:
  BatchSink(const Clock& clock, std::int64_t batch)
      : clock_(clock), num_waiting_first_(batch), num_running_(batch) {}

  void on_event(StreamEvent event) override {
    const MutexLock lock(mutex_);
    const auto has_first = std::find(started_.begin(), started_.end(), event.seq) != started_.end();
    num_tokens_ += static_cast<std::int64_t>(event.tokens.size());
    if (!event.tokens.empty() && !has_first) {
      started_.push_back(event.seq);
      if (--num_waiting_first_ == 0) {
        first_ = clock_.now();
        num_tokens_at_first_ = num_tokens_;
      }
    }
    if (event.finish == FinishReason::kNone) {
      return;
    }
    if (event.finish == FinishReason::kAbort && status_.ok()) {
      status_ = {event.status, event.status_message};
    }
    if (--num_running_ == 0) {
      last_ = clock_.now();
      done_.notify_all();
    }
  }

  void withdraw() {
    const MutexLock lock(mutex_);
    --num_running_;
    --num_waiting_first_;
  }

  Status wait() {
    MutexLock lock(mutex_);
    while (num_running_ > 0) {
      done_.wait(lock);
    }
    return status_;
  }

  Clock::TimePoint first() {
    const MutexLock lock(mutex_);
    return first_;
  }

  Clock::TimePoint last() {
    const MutexLock lock(mutex_);
    return last_;
  }

  std::int64_t num_tokens() {
    const MutexLock lock(mutex_);
    return num_tokens_;
  }

  // Those that no prompt delayed: the early requests decode while the late ones are still read.
  std::int64_t num_tokens_after_first() {
    const MutexLock lock(mutex_);
    return num_tokens_ - num_tokens_at_first_;
  }

 private:
  const Clock& clock_;
  Mutex mutex_;
  CondVar done_;
  std::int64_t num_waiting_first_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_running_ PLUMB_GUARDED_BY(mutex_);
  std::int64_t num_tokens_ PLUMB_GUARDED_BY(mutex_) = 0;
  std::int64_t num_tokens_at_first_ PLUMB_GUARDED_BY(mutex_) = 0;
  std::vector<SeqId> started_ PLUMB_GUARDED_BY(mutex_);
  Clock::TimePoint first_ PLUMB_GUARDED_BY(mutex_);
  Clock::TimePoint last_ PLUMB_GUARDED_BY(mutex_);
  Status status_ PLUMB_GUARDED_BY(mutex_);
};

Request random_request(const BatchBenchOptions& options, std::int64_t vocab_size, Rng& rng) {
  Request request;
  request.id = "bench";
  for (std::int64_t i = 0; i < options.input_len; ++i) {
    request.prompt.push_back(static_cast<TokenId>(rng.below(vocab_size)));
  }
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = options.output_len;
  return request;
}

Result<BatchRun> run_once(Engine& engine, const Clock& clock, const BatchBenchOptions& options,
                          Rng& rng) {
  BatchSink sink(clock, options.batch);
  std::vector<Request> requests;
  for (std::int64_t i = 0; i < options.batch; ++i) {
    requests.push_back(random_request(options, engine.model_facts().vocab_size, rng));
  }
  Status refused;
  const Clock::TimePoint begin = clock.now();
  for (Request& request : requests) {
    const Result<SeqId> seq =
        refused.ok() ? engine.submit(std::move(request), sink) : Result<SeqId>(refused);
    if (!seq.ok()) {
      refused = seq.status();
      sink.withdraw();
    }
  }
  const Status status = sink.wait();
  PLUMB_RETURN_IF_ERROR(refused);
  PLUMB_RETURN_IF_ERROR(status);
  const std::int64_t expected = options.batch * options.output_len;
  if (sink.num_tokens() != expected) {
    return Status{Code::kInternal, "the engine produced " + std::to_string(sink.num_tokens()) +
                                       " tokens, expected " + std::to_string(expected)};
  }
  BatchRun run;
  run.t_first = seconds_between(begin, sink.first());
  run.t_last = seconds_between(begin, sink.last());
  run.prefill_tok_s = static_cast<double>(options.batch * options.input_len) / run.t_first;
  if (run.t_last > run.t_first) {
    run.decode_tok_s =
        static_cast<double>(sink.num_tokens_after_first()) / (run.t_last - run.t_first);
  }
  return run;
}

double median_of(std::vector<BatchRun> runs, double BatchRun::*figure) {
  std::sort(runs.begin(), runs.end(),
            [&](const BatchRun& a, const BatchRun& b) { return a.*figure < b.*figure; });
  const std::size_t half = runs.size() / 2;
  return runs.size() % 2 == 1 ? runs[half].*figure
                              : (runs[half - 1].*figure + runs[half].*figure) / 2;
}

// A speed that was not measured is no speed of 0.
Json decode_json(const BatchRun& run) {
  return run.decode_tok_s > 0 ? Json(run.decode_tok_s) : Json();
}

std::string decode_text(const BatchRun& run) {
  if (run.decode_tok_s <= 0) {
    return "decode not measured";
  }
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "decode %.1f tok/s", run.decode_tok_s);
  return buffer;
}

Json run_to_json(const BatchRun& run) {
  return JsonObject{{"t_submit", 0.0},
                    {"t_first", run.t_first},
                    {"t_last", run.t_last},
                    {"prefill_tok_s", run.prefill_tok_s},
                    {"decode_tok_s", decode_json(run)}};
}

}  // namespace

Result<BatchBenchReport> run_batch_bench(
    Engine& engine, const Clock& clock, const BatchBenchOptions& options,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  BatchBenchReport report;
  report.options = options;
  Rng rng(options.seed);
  const std::int64_t total = options.warmup + options.repeats;
  for (std::int64_t i = 0; i < total; ++i) {
    PLUMB_ASSIGN(const BatchRun run, run_once(engine, clock, options, rng));
    if (i >= options.warmup) {
      report.runs.push_back(run);
    }
    progress(i + 1, total);
  }
  for (double BatchRun::*figure :
       {&BatchRun::t_first, &BatchRun::t_last, &BatchRun::prefill_tok_s, &BatchRun::decode_tok_s}) {
    report.median.*figure = median_of(report.runs, figure);
  }
  return report;
}

Json to_json(const BatchBenchReport& report) {
  JsonArray runs;
  for (const BatchRun& run : report.runs) {
    runs.push_back(run_to_json(run));
  }
  return JsonObject{{"input_len", report.options.input_len},
                    {"output_len", report.options.output_len},
                    {"batch", report.options.batch},
                    {"repeats", report.options.repeats},
                    {"warmup", report.options.warmup},
                    {"seed", report.options.seed},
                    {"prefill_tok_s", report.median.prefill_tok_s},
                    {"decode_tok_s", decode_json(report.median)},
                    {"t_submit", 0.0},
                    {"t_first", report.median.t_first},
                    {"t_last", report.median.t_last},
                    {"runs", std::move(runs)}};
}

std::string to_text(const BatchBenchReport& report) {
  std::string text;
  char buffer[256];
  for (const BatchRun& run : report.runs) {
    std::snprintf(buffer, sizeof buffer, "  first token %8.1f ms   prefill %9.1f tok/s   %s\n",
                  run.t_first * 1e3, run.prefill_tok_s, decode_text(run).c_str());
    text += buffer;
  }
  std::snprintf(buffer, sizeof buffer,
                "batch %lld, %lld tokens in, %lld out: prefill %.1f tok/s, %s (median of %zu)",
                static_cast<long long>(report.options.batch),
                static_cast<long long>(report.options.input_len),
                static_cast<long long>(report.options.output_len), report.median.prefill_tok_s,
                decode_text(report.median).c_str(), report.runs.size());
  return text + buffer;
}

}  // namespace plumb
