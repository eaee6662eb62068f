// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "base/log.h"
#include "engine/engine_test_scene.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

// Engines that come and go on one disk, with random options, requests and damage. Every answer is
// the one that the model gives without any cache.
class Lives {
 public:
  explicit Lives(unsigned seed, bool has_window = false, bool overlaps = false)
      : random_(seed), overlaps_(overlaps) {
    model_.block_size = 1 + below(6);
    model_.window = has_window ? 2 + below(14) : 0;
    for (Tokens& stem : stems_) {
      stem = random_tokens(20 + below(60));
    }
    const std::int64_t block_bytes = model_.block_size * 32 + (has_window ? 8 : 0);
    options_.tiers.host_bytes = (2 + below(60)) * block_bytes;
    options_.tiers.disk_bytes = (10 + below(200)) * (block_bytes + 200);
    if (below(5) != 0) {
      options_.tiers.disk_folder = "cache";
    }
  }

  void run() {
    for (int life = 0; life < 4; ++life) {
      live();
      damage();
    }
  }

  KvTierStats sum;
  std::int64_t num_ahead_steps = 0;
  std::int64_t num_preemptions = 0;
  std::int64_t num_cut = 0;
  std::int64_t num_passed = 0;
  int num_compared = 0;

 private:
  std::int64_t below(std::int64_t limit) { return static_cast<std::int64_t>(random_()) % limit; }

  Tokens random_tokens(std::int64_t count) {
    Tokens tokens;
    for (std::int64_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<TokenId>(below(50)));
    }
    return tokens;
  }

  EngineOptions options_of_a_life() {
    EngineOptions options = options_;
    options.max_num_seqs = 1 + below(5);
    options.chunk_tokens = 1 + below(40);
    options.min_context = 1;
    options.kv_conservativeness = 0;
    options.scheduler.kv_admission = AdmissionKind::kRatio;  // the optimist preempts most
    options.kv_cache_bytes = (105 + below(50)) * 32;
    options.evict_policy = static_cast<EvictStrategy>(below(kNumEvictStrategies));
    options.tiers.write_policy = static_cast<TierWritePolicy>(below(3));
    options.tiers.prefetch_policy = static_cast<PrefetchPolicy>(below(3));
    options.max_queued_requests = 100;
    return options;
  }

  Request random_request() {
    const Tokens& stem = stems_[static_cast<std::size_t>(below(std::ssize(stems_)))];
    Tokens prompt(stem.begin(), stem.begin() + 1 + below(std::ssize(stem)));
    const Tokens rest = random_tokens(below(8));
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    Request request = EngineScene::greedy(std::move(prompt), 1 + below(12));
    request.sampling.prompt_logprobs = below(10) == 0;
    request.cache_namespace = below(4) == 0 ? "other" : "";
    return request;
  }

  bool step(EngineScene& scene) const {
    return overlaps_ ? scene.engine->overlapped_step() : scene.engine->step();
  }

  void live() {
    EngineScene scene(options_of_a_life(), model_, &files_);
    files_.space_left = below(4) == 0 ? below(4000) : 1 << 20;
    std::vector<Request> requests;
    for (std::int64_t n = 3 + below(12); n > 0; --n) {
      requests.push_back(random_request());
    }
    std::vector<RecordingSink> sinks(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const SeqId id = scene.submit(requests[i], sinks[i]);
      for (std::int64_t n = below(6); n > 0; --n) {
        step(scene);
        ASSERT_EQ(scene.engine->check_invariants().message(), "");
      }
      if (below(10) == 0) {
        scene.engine->abort(id);
      }
    }
    while (step(scene)) {
    }
    scene.expect_idle_and_whole();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      compare(requests[i], sinks[i]);
    }
    const EngineStats stats = scene.engine->stats();
    num_ahead_steps += stats.num_ahead_steps;
    num_preemptions += stats.num_preemptions;
    num_cut += stats.num_cut_prefixes;
    num_passed += stats.num_passed_window_blocks;
    sum.host_hit_tokens += stats.tiers.host_hit_tokens;
    sum.disk_hit_tokens += stats.tiers.disk_hit_tokens;
    sum.host.num_evicted += stats.tiers.host.num_evicted;
    sum.disk.num_evicted += stats.tiers.disk.num_evicted;
    sum.disk.num_damaged += stats.tiers.disk.num_damaged;
  }

  void compare(const Request& request, const RecordingSink& sink) {
    Tokens truth = EngineScene::truth(request.prompt, request.sampling.max_tokens);
    if (sink.finish == FinishReason::kAbort) {
      ASSERT_LE(sink.tokens.size(), truth.size());
      truth.resize(sink.tokens.size());
    }
    ASSERT_EQ(sink.tokens, truth);
    ++num_compared;
  }

  void damage() {
    for (auto& [path, content] : files_.files) {
      if (below(4) == 0 && !content->empty()) {
        char& byte = (*content)[static_cast<std::size_t>(below(std::ssize(*content)))];
        byte = static_cast<char>(byte ^ static_cast<char>(1 + below(255)));
      } else if (below(8) == 0) {
        content->resize(static_cast<std::size_t>(below(std::ssize(*content) + 1)));
      }
    }
  }

  std::mt19937 random_;
  bool overlaps_;
  ScriptedModel::Options model_;
  EngineOptions options_;
  std::array<Tokens, 4> stems_;
  MemFiles files_;
};

void be_silent() {  // every damage is a line
  LogOptions log;
  log.level = LogLevel::kOff;
  init_log(std::move(log));
}

// What is kept of a block may lack the part of the layers with a window.
TEST(TieredCacheProperty, every_answer_is_the_one_without_tiers_where_layers_have_a_window) {
  be_silent();
  KvTierStats sum;
  std::int64_t num_cut = 0;
  std::int64_t num_passed = 0;
  int num_compared = 0;
  for (unsigned seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Lives lives(seed, true);
    lives.run();
    sum.host_hit_tokens += lives.sum.host_hit_tokens;
    sum.disk_hit_tokens += lives.sum.disk_hit_tokens;
    num_cut += lives.num_cut;
    num_passed += lives.num_passed;
    num_compared += lives.num_compared;
  }
  init_log({});
  EXPECT_GT(sum.host_hit_tokens, 1000);
  EXPECT_GT(sum.disk_hit_tokens, 2000);
  EXPECT_GT(num_cut, 10);
  EXPECT_GT(num_passed, 1000);
  EXPECT_GT(num_compared, 6'000);
}

TEST(TieredCacheProperty, every_answer_is_the_one_without_tiers_in_all_lives) {
  be_silent();
  KvTierStats sum;
  std::int64_t num_preemptions = 0;
  int num_compared = 0;
  for (unsigned seed = 1; seed <= 500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Lives lives(seed);
    lives.run();
    sum.host_hit_tokens += lives.sum.host_hit_tokens;
    sum.disk_hit_tokens += lives.sum.disk_hit_tokens;
    sum.host.num_evicted += lives.sum.host.num_evicted;
    sum.disk.num_evicted += lives.sum.disk.num_evicted;
    sum.disk.num_damaged += lives.sum.disk.num_damaged;
    num_preemptions += lives.num_preemptions;
    num_compared += lives.num_compared;
  }
  init_log({});
  RecordProperty("host_hit_tokens", static_cast<int>(sum.host_hit_tokens));
  RecordProperty("disk_hit_tokens", static_cast<int>(sum.disk_hit_tokens));
  EXPECT_GT(sum.host_hit_tokens, 3000);
  EXPECT_GT(sum.disk_hit_tokens, 5000);
  EXPECT_GT(sum.host.num_evicted, 1000);
  EXPECT_GT(sum.disk.num_evicted, 100);
  EXPECT_GT(sum.disk.num_damaged, 10);
  EXPECT_GT(num_preemptions, 50);
  EXPECT_GT(num_compared, 10'000);
}

// Blocks are evicted and copied while a step is under way; none is that this step writes.
TEST(TieredCacheProperty, every_answer_is_the_one_without_tiers_with_steps_launched_ahead) {
  be_silent();
  KvTierStats sum;
  std::int64_t num_ahead_steps = 0;
  int num_compared = 0;
  for (unsigned seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Lives lives(seed, seed % 3 == 0, true);
    lives.run();
    sum.host_hit_tokens += lives.sum.host_hit_tokens;
    sum.disk_hit_tokens += lives.sum.disk_hit_tokens;
    num_ahead_steps += lives.num_ahead_steps;
    num_compared += lives.num_compared;
  }
  init_log({});
  RecordProperty("ahead_steps", static_cast<int>(num_ahead_steps));
  EXPECT_GT(sum.host_hit_tokens, 1000);
  EXPECT_GT(sum.disk_hit_tokens, 2000);
  EXPECT_GT(num_ahead_steps, 500);
  EXPECT_GT(num_compared, 6'000);
}

}  // namespace
}  // namespace plumb
