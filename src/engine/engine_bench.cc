// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "support/scripted_model.h"

// Times what the engine itself costs, on a model that computes nothing: the share of a step that is
// not forward code, the wake-up of a sleeping engine, and the prefix tree with a million cached
// tokens.
//
//   engine_bench
namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

double micros(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

void report(const char* what, std::vector<double> micros_each) {
  std::sort(micros_each.begin(), micros_each.end());
  const auto at = [&](double q) {
    return micros_each[static_cast<std::size_t>(q * static_cast<double>(micros_each.size() - 1))];
  };
  std::printf("%-44s median %8.1f us   p99 %8.1f us   (%zu)\n", what, at(0.5), at(0.99),
              micros_each.size());
}

class SilentSink final : public EventSink {
 public:
  void on_event(StreamEvent) override {}
};

// Says token 7 always: the argmax op of the scripted back end sees a vocabulary of 8.
class NullModel final : public ScriptedModel {
 public:
  using ScriptedModel::ScriptedModel;

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache>) const override {
    const Tensor logits =
        op.workspace().allocate(DType::kF32, {batch.logits_rows.dim(0), facts().vocab_size});
    if (logits.address != nullptr) {
      std::fill_n(logits.as<float>(), logits.num_elements(), 0.0F);
    }
    return logits;
  }
};

class StepTimes final : public EngineObserver {
 public:
  void on_step(const StepStats& step) override {
    micros_each.push_back(micros(step.plan_time + step.sample_time));
    planner_micros_each.push_back(micros(step.planner_time));
  }

  void on_end(const Request&, const StreamEvent&) override {}

  std::vector<double> micros_each;
  std::vector<double> planner_micros_each;
};

struct Bench {
  explicit Bench(std::int64_t num_seqs, const SchedulerOptions& scheduler = {},
                 std::int64_t block_size = 32) {
    EngineOptions options;
    options.scheduler = scheduler;
    options.max_num_seqs = num_seqs;
    options.max_queued_requests = 1 << 20;
    options.kv_cache_bytes = std::int64_t{512} << 20;
    ScriptedModel::Options model;
    model.vocab_size = 8;
    model.max_context_len = 8192;
    model.block_size = block_size;
    EngineParts parts;
    parts.model = std::make_unique<NullModel>(model);
    parts.backend = &backend;
    parts.ops = backend.ops();
    parts.clock = &system_clock();
    parts.observer = &times;
    engine = Engine::create(options, std::move(parts)).value();
  }

  void submit(std::int64_t prompt_len, std::int64_t max_tokens, unsigned seed) {
    std::mt19937 random(seed);
    Request request;
    for (std::int64_t i = 0; i < prompt_len; ++i) {
      request.prompt.push_back(static_cast<TokenId>(random() % 8));
    }
    request.sampling.temperature = 0;
    request.sampling.max_tokens = max_tokens;
    request.priority = static_cast<std::int64_t>(seed % 100);
    request.tenant = "tenant" + std::to_string(seed % 16);
    request.routing_key = "key" + std::to_string(seed % 50);
    const Result<SeqId> id = engine->submit(std::move(request), sink);
    PLUMB_CHECK(id.ok(), id.status().message());
  }

  SilentSink sink;
  StepTimes times;
  ScriptedBackend backend;
  std::unique_ptr<Engine> engine;
};

void bench_steps(const char* what, std::int64_t num_running, std::int64_t num_waiting,
                 const SchedulerOptions& scheduler = {}) {
  Bench bench(num_running, scheduler);
  for (std::int64_t i = 0; i < num_running + num_waiting; ++i) {
    // Ends are spread, so that sequences leave and start within the measured steps.
    bench.submit(64 + i % 200, num_waiting > 0 ? 200 + 5 * (i % 200) : 4000,
                 static_cast<unsigned>(i));
  }
  for (int i = 0; i < 300; ++i) {
    bench.engine->step();
  }
  bench.times.micros_each.clear();
  bench.times.planner_micros_each.clear();
  for (int i = 0; i < 2000; ++i) {
    bench.engine->step();
  }
  report(what, bench.times.micros_each);
  report("  of these the scheduler", bench.times.planner_micros_each);
}

// Every policy, with sixteen tenants and requests of a hundred priorities.
void bench_policies() {
  for (const auto& [name, order] : scheduler_choices::kOrders) {
    SchedulerOptions scheduler;
    scheduler.schedule_policy = order;
    const std::string title = "256 running, 4096 wait: " + std::string(name);
    bench_steps(title.c_str(), 256, 4096, scheduler);
    const std::string few = "256 running, 120 wait: " + std::string(name);
    bench_steps(few.c_str(), 256, 120, scheduler);
  }
}

// Remembers when it was told.
class WakeSink final : public EventSink {
 public:
  void on_event(StreamEvent) override {
    const MutexLock lock(mutex_);
    told_ = system_clock().now();
    is_told_ = true;
    changed_.notify_one();
  }

  Clock::TimePoint wait() {
    MutexLock lock(mutex_);
    while (!is_told_) {
      changed_.wait(lock);
    }
    is_told_ = false;
    return told_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  Clock::TimePoint told_ PLUMB_GUARDED_BY(mutex_);
  bool is_told_ PLUMB_GUARDED_BY(mutex_) = false;
};

void bench_wake() {
  WakeSink sink;
  Bench bench(4);
  bench.engine->start();
  std::vector<double> waits;
  for (int i = 0; i < 300; ++i) {
    bench.engine->wait_until_idle(system_clock().now() + std::chrono::seconds(10));
    Request request;
    request.prompt = {1, 2};
    request.sampling.temperature = 0;
    request.sampling.max_tokens = 1;
    const Clock::TimePoint begin = system_clock().now();
    PLUMB_CHECK(bench.engine->submit(std::move(request), sink).ok(), "refused");
    waits.push_back(micros(sink.wait() - begin));
  }
  bench.engine->stop();
  report("asleep: from submit to the event", waits);
}

void bench_tree(bool with_events) {
  constexpr std::int64_t kBlock = 32;
  constexpr std::int64_t kPrompt = 32'768;
  BlockPool pool(40'000);
  KvEventRecorder recorder(kBlock);
  PrefixTree tree(kBlock, EvictStrategy::kLru, with_events ? &recorder : nullptr);
  std::mt19937 random(1);
  const auto blocks_of = [&](const Tokens& tokens, PrefixLock* lock) {
    std::vector<BlockId> table;
    *lock = tree.match("", tokens, &table);
    std::vector<BlockRef> owned;
    while (std::ssize(table) * kBlock < std::ssize(tokens)) {
      if (pool.num_free() == 0) {
        tree.evict(1);
      }
      owned.push_back(pool.take().value());
      table.push_back(owned.back().id());
    }
    *lock = tree.insert("", tokens, &table, &owned, {});
  };
  Tokens prompt;
  while (tree.num_blocks() * kBlock < 1'000'000) {  // conversations over a few shared beginnings
    prompt.assign(512 + random() % 4096, static_cast<TokenId>(random() % 20));
    for (std::size_t i = 256; i < prompt.size(); ++i) {
      prompt[i] = static_cast<TokenId>(random() % 50'000);
    }
    PrefixLock lock;
    blocks_of(prompt, &lock);
    recorder.take();
  }
  std::vector<double> cold;
  std::vector<double> warm;
  for (int i = 0; i < 100; ++i) {
    prompt.resize(kPrompt);
    for (TokenId& token : prompt) {
      token = static_cast<TokenId>(random() % 50'000);
    }
    for (std::vector<double>* times : {&cold, &warm}) {
      PrefixLock lock;
      const Clock::TimePoint begin = system_clock().now();
      blocks_of(prompt, &lock);
      times->push_back(micros(system_clock().now() - begin));
      recorder.take();
    }
  }
  const std::string what = std::string("tree, 10^6 tokens") + (with_events ? ", events" : "");
  report((what + ": 32k prompt, new").c_str(), cold);
  report((what + ": 32k prompt, cached").c_str(), warm);
}

}  // namespace
}  // namespace plumb

int main() {
  plumb::bench_steps("step without forward, 8 running", 8, 0);
  plumb::bench_steps("step without forward, 64 running", 64, 0);
  plumb::bench_steps("step without forward, 256 running, 4096 wait", 256, 4096);
  plumb::bench_policies();
  plumb::bench_wake();
  plumb::bench_tree(false);
  plumb::bench_tree(true);
  return 0;
}
