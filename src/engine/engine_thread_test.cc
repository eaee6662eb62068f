// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <random>

#include "base/clock.h"
#include "base/thread.h"
#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;
using Tokens = std::vector<TokenId>;

// What may be read after the last event, on any thread.
class WaitableSink final : public EventSink {
 public:
  void on_event(StreamEvent event) override {
    const MutexLock lock(mutex_);
    EXPECT_EQ(finish_, FinishReason::kNone);
    for (const EmittedToken& token : event.tokens) {
      tokens_.push_back(token.token);
    }
    finish_ = event.finish;
    changed_.notify_all();
  }

  FinishReason wait() {
    MutexLock lock(mutex_);
    while (finish_ == FinishReason::kNone) {
      changed_.wait(lock);
    }
    return finish_;
  }

  Tokens tokens() {
    const MutexLock lock(mutex_);
    return tokens_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  Tokens tokens_ PLUMB_GUARDED_BY(mutex_);
  FinishReason finish_ PLUMB_GUARDED_BY(mutex_) = FinishReason::kNone;
};

// An engine that runs by itself on the machine's clock.
struct RunningEngine {
  explicit RunningEngine(EngineOptions options = EngineScene::small_options()) {
    options.max_queued_requests = 50;
    EngineParts parts;
    parts.model = std::make_unique<ScriptedModel>(ScriptedModel::Options{});
    parts.backend = &backend;
    parts.ops = backend.ops();
    parts.clock = &system_clock();
    engine = Engine::create(options, std::move(parts)).value();
    engine->start();
  }

  ScriptedBackend backend;
  std::unique_ptr<Engine> engine;
};

TEST(EngineThread, a_sleeping_engine_wakes_for_each_request) {
  RunningEngine running;
  for (TokenId i = 0; i < 20; ++i) {
    WaitableSink sink;
    ASSERT_TRUE(running.engine->submit(EngineScene::greedy({i, 3}, 4), sink).ok());
    EXPECT_EQ(sink.wait(), FinishReason::kLength);
    EXPECT_EQ(sink.tokens(), EngineScene::truth({i, 3}, 4));
  }
  EXPECT_TRUE(running.engine->wait_until_idle(system_clock().now() + 60s));
  EXPECT_EQ(running.engine->stats().num_finished, 20);
}

// Reads the figures inside the last event.
class StatsSink final : public EventSink {
 public:
  explicit StatsSink(const Engine& engine) : engine_(engine) {}

  void on_event(StreamEvent event) override {
    if (event.finish != FinishReason::kNone) {
      at_end = engine_.stats();
    }
  }

  EngineStats at_end;

 private:
  const Engine& engine_;
};

TEST(EngineThread, who_has_the_answer_finds_it_in_the_figures) {
  RunningEngine running;
  for (TokenId i = 0; i < 3; ++i) {
    StatsSink sink(*running.engine);
    ASSERT_TRUE(running.engine->submit(EngineScene::greedy({i, 3}, 4), sink).ok());
    ASSERT_TRUE(running.engine->wait_until_idle(system_clock().now() + 60s));
    EXPECT_EQ(sink.at_end.num_running, 0);
    EXPECT_EQ(sink.at_end.num_finished, i + 1);
    EXPECT_EQ(sink.at_end.completion_tokens, 4 * (i + 1));
    EXPECT_EQ(sink.at_end.num_steps, running.engine->stats().num_steps);
  }
}

TEST(EngineThread, many_threads_submit_and_abort_at_once) {
  RunningEngine running;
  std::atomic<int> num_right{0};
  std::atomic<int> num_aborted{0};
  std::atomic<int> num_refused{0};
  const auto client = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 40; ++i) {
      WaitableSink sink;
      const Tokens prompt{static_cast<TokenId>(random() % 50), static_cast<TokenId>(random() % 3)};
      const Result<SeqId> id = running.engine->submit(EngineScene::greedy(prompt, 6), sink);
      if (!id.ok()) {
        ++num_refused;
        continue;
      }
      if (random() % 4 == 0) {
        running.engine->abort(id.value());
      }
      if (running.engine->stats().num_blocks == 0) {
        ADD_FAILURE() << "stats are not published";
      }
      const bool was_aborted = sink.wait() == FinishReason::kAbort;
      const Tokens truth = EngineScene::truth(prompt, 6);
      const Tokens said = sink.tokens();
      const bool is_right =
          was_aborted ? std::equal(said.begin(), said.end(), truth.begin()) : said == truth;
      num_right += is_right ? 1 : 0;
      num_aborted += was_aborted ? 1 : 0;
    }
  };
  {
    std::vector<Thread> clients;
    for (unsigned i = 0; i < 4; ++i) {
      clients.emplace_back("client", [&client, i] { client(i); });
    }
  }
  EXPECT_EQ(num_right + num_refused, 160);
  EXPECT_EQ(num_refused, 0);
  EXPECT_TRUE(running.engine->wait_until_idle(system_clock().now() + 60s));
  EXPECT_EQ(running.engine->stats().num_used_blocks(), 0);
  running.engine->stop();
  EXPECT_EQ(running.engine->check_invariants().message(), "");
}

TEST(EngineThread, stopping_ends_what_runs) {
  RunningEngine running;
  WaitableSink sink;
  ASSERT_TRUE(running.engine->submit(EngineScene::greedy({1}, 200), sink).ok());
  running.engine->stop();
  EXPECT_NE(sink.wait(), FinishReason::kNone);
  WaitableSink late;
  EXPECT_EQ(running.engine->submit(EngineScene::greedy({1}, 2), late).status().code(),
            Code::kUnavailable);
}

TEST(EngineThread, a_drained_engine_becomes_idle) {
  RunningEngine running;
  WaitableSink sink;
  ASSERT_TRUE(running.engine->submit(EngineScene::greedy({1}, 50), sink).ok());
  running.engine->drain();
  EXPECT_TRUE(running.engine->wait_until_idle(system_clock().now() + 60s));
  EXPECT_EQ(sink.wait(), FinishReason::kLength);
}

TEST(EngineThread, steps_are_launched_ahead_and_end_tokens_still_end) {
  RunningEngine running;
  std::vector<WaitableSink> sinks(12);
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    Request request = EngineScene::greedy({static_cast<TokenId>(i), 3}, 40);
    request.sampling.stop_token_ids = {5, 11, 17};
    ASSERT_TRUE(running.engine->submit(std::move(request), sinks[i]).ok());
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    sinks[i].wait();
    Tokens truth = EngineScene::truth({static_cast<TokenId>(i), 3}, 40);
    const auto end = std::find_if(truth.begin(), truth.end(),
                                  [](TokenId t) { return t == 5 || t == 11 || t == 17; });
    truth.erase(end == truth.end() ? end : end + 1, truth.end());
    EXPECT_EQ(sinks[i].tokens(), truth);
  }
  EXPECT_TRUE(running.engine->wait_until_idle(system_clock().now() + 60s));
  EXPECT_GT(running.engine->stats().num_ahead_steps, 20);
  EXPECT_TRUE(running.engine->flush_cache().ok());
  EXPECT_EQ(running.engine->stats().num_free_blocks, running.engine->stats().num_blocks);
}

// Blocks are evicted, copied to memory and brought back while steps are under way.
TEST(EngineThread, answers_are_right_where_a_small_cache_and_tiers_are_busy) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 16 * EngineScene::kBlockBytes;
  options.kv_conservativeness = 0;
  options.tiers.host_bytes = 16 * EngineScene::kBlockBytes;
  RunningEngine running(options);
  std::vector<WaitableSink> sinks(48);
  const auto prompt = [](std::size_t i) {
    return prompt_of(static_cast<TokenId>(i % 6), 9 + static_cast<std::int64_t>(i % 11));
  };
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    Request request = EngineScene::greedy(prompt(i), 20);
    request.sampling.stop_token_ids = {5, 11};
    ASSERT_TRUE(running.engine->submit(std::move(request), sinks[i]).ok());
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    sinks[i].wait();
    Tokens truth = EngineScene::truth(prompt(i), 20);
    const auto end =
        std::find_if(truth.begin(), truth.end(), [](TokenId t) { return t == 5 || t == 11; });
    truth.erase(end == truth.end() ? end : end + 1, truth.end());
    EXPECT_EQ(sinks[i].tokens(), truth);
  }
  running.engine->stop();
  const EngineStats stats = running.engine->stats();
  EXPECT_GT(stats.num_ahead_steps, 0);
  EXPECT_GT(stats.num_evicted_blocks, 20);
  EXPECT_GT(stats.tiers.host.num_blocks, 0);
  EXPECT_EQ(running.engine->check_invariants().message(), "");
}

// Loses the device when it hears of the first token.
class LosingSink final : public EventSink {
 public:
  LosingSink(ScriptedBackend& backend, WaitableSink& sink) : backend_(backend), sink_(sink) {}

  void on_event(StreamEvent event) override {
    backend_.device_is_lost = true;
    sink_.on_event(std::move(event));
  }

 private:
  ScriptedBackend& backend_;
  WaitableSink& sink_;
};

TEST(EngineThread, a_lost_device_ends_what_is_under_way) {
  RunningEngine running;
  WaitableSink sink;
  LosingSink losing(running.backend, sink);
  ASSERT_TRUE(running.engine->submit(EngineScene::greedy({1}, 250), losing).ok());
  EXPECT_EQ(sink.wait(), FinishReason::kAbort);
  running.engine->stop();
  EXPECT_EQ(running.engine->stats().state, EngineState::kFailed);
  EXPECT_EQ(running.engine->stats().num_running, 0);
  EXPECT_EQ(running.engine->stats().num_used_blocks(), 0);
  EXPECT_EQ(running.engine->check_invariants().message(), "");
}

}  // namespace
}  // namespace plumb
