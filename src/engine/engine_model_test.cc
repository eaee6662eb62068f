// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <random>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/synthesize.h"
#include "engine/engine_test_scene.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/meta/meta_backend.h"
#include "kernels/ref/ref_backend.h"
#include "model/families.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

struct ModelCase {
  const char* name;
  const char* architecture;
  const char* quant;
  bool on_cpu;  ///< else the reference back end
};

// A tiny generated checkpoint on a real back end.
class RealModel {
 public:
  explicit RealModel(const ModelCase& c)
      : path_(std::filesystem::path(testing::TempDir()) /
              ("plumb_engine_model_" + std::to_string(::getpid()) + "_" + c.name + ".gguf")) {
    SynthesisSpec spec;
    spec.architecture = c.architecture;
    spec.quant = c.quant;
    spec.context_len = 512;
    spec.sliding_window = spec.architecture == "gemma3" ? 24 : 0;
    EXPECT_TRUE(synthesize_gguf(spec, path_.string()).ok());
    backend_ = c.on_cpu ? make_cpu_backend({.num_threads = 2}).value() : make_ref_backend();
  }

  ~RealModel() { std::filesystem::remove(path_); }

  RealModel(const RealModel&) = delete;
  RealModel& operator=(const RealModel&) = delete;

  std::unique_ptr<Engine> new_engine(const EngineOptions& options, std::int64_t block_size) {
    checkpoints_.push_back(Checkpoint::open(path_.string()).value());
    EngineParts parts;
    ModelSource source{*checkpoints_.back(), *backend_, {}, DType::kF16, block_size};
    parts.model = load_model(source).value();
    parts.backend = backend_.get();
    parts.ops = backend_->ops();
    parts.meta_ops = &meta_->ops();
    parts.clock = &clock_;
    parts.model_id = path_.string();
    parts.files = &files_;
    Result<std::unique_ptr<Engine>> engine = Engine::create(options, std::move(parts));
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return std::move(engine).value();
  }

 private:
  std::filesystem::path path_;
  FakeClock clock_;
  MemFiles files_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<MetaBackend> meta_ = make_meta_backend();
  std::vector<std::unique_ptr<Checkpoint>> checkpoints_;  // mapped weights live in them
};

std::vector<Request> random_requests(unsigned seed) {
  std::mt19937 random(seed);
  Tokens stem;
  for (int i = 0; i < 70; ++i) {
    stem.push_back(static_cast<TokenId>(4 + random() % 256));
  }
  std::vector<Request> requests;
  for (int i = 0; i < 10; ++i) {
    Tokens prompt(stem.begin(), stem.begin() + 1 + static_cast<std::ptrdiff_t>(random() % 70));
    for (auto n = random() % 20; n > 0; --n) {
      prompt.push_back(static_cast<TokenId>(4 + random() % 256));
    }
    Request request =
        EngineScene::greedy(std::move(prompt), 4 + static_cast<std::int64_t>(random() % 20));
    request.sampling.logprobs = true;
    requests.push_back(std::move(request));
  }
  return requests;
}

class EngineOnModel : public testing::TestWithParam<ModelCase> {};

// Ids and the bits of the log probabilities are those of each request alone with a cold cache.
TEST_P(EngineOnModel, says_the_same_alone_batched_chunked_warm_and_after_preemption) {
  RealModel model(GetParam());
  EngineOptions roomy;
  roomy.max_num_seqs = 1;
  roomy.prefix_cache = false;
  roomy.kv_cache_bytes = 8 << 20;
  const auto alone = model.new_engine(roomy, 32);
  const MemoryPlan& plan = alone->memory_plan();
  const std::int64_t token_bytes = (plan.block_bytes + plan.window_block_bytes) / 32;
  EngineStats sum;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const std::vector<Request> requests = random_requests(seed);
    EngineOptions tight;
    tight.max_num_seqs = 2 + seed % 3;
    tight.chunk_tokens = 8 + 5 * seed;
    tight.min_context = 1;
    tight.kv_conservativeness = 0;
    const std::int64_t block_size = seed % 2 == 0 ? 8 : 16;
    tight.kv_cache_bytes = 160 * token_bytes;
    std::vector<RecordingSink> batched(requests.size());
    const auto engine = model.new_engine(tight, block_size);
    const auto step = [&] { return seed > 3 ? engine->overlapped_step() : engine->step(); };
    for (std::size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(engine->submit(requests[i], batched[i]).ok());
      step();
    }
    while (step()) {
    }
    EXPECT_EQ(engine->check_invariants().message(), "");
    for (std::size_t i = 0; i < requests.size(); ++i) {
      RecordingSink truth;
      ASSERT_TRUE(alone->submit(requests[i], truth).ok());
      while (alone->step()) {
      }
      ASSERT_EQ(batched[i].tokens, truth.tokens) << "seed " << seed << " request " << i;
      for (std::size_t k = 0; k < truth.emitted.size(); ++k) {
        ASSERT_EQ(batched[i].emitted[k].logprob, truth.emitted[k].logprob);
      }
    }
    const EngineStats stats = engine->stats();
    sum.num_preemptions += stats.num_preemptions;
    sum.num_prefix_hits += stats.num_prefix_hits;
    sum.num_mixed_steps += stats.num_mixed_steps;
    sum.num_ahead_steps += stats.num_ahead_steps;
  }
  EXPECT_GT(sum.num_ahead_steps, 20);
  EXPECT_TRUE(sum.num_preemptions > 0 || plan.window > 0);  // with a window all find room
  EXPECT_GT(sum.num_prefix_hits, 10);
  EXPECT_GT(sum.num_mixed_steps, 50);
}

// A prefix computed in one life and restored from the disk in the next gives the same bits.
TEST_P(EngineOnModel, says_the_same_with_a_prefix_that_was_restored_from_the_disk) {
  RealModel model(GetParam());
  EngineOptions options;
  options.kv_cache_bytes = 8 << 20;
  options.tiers.host_bytes = 8 << 20;
  options.tiers.disk_folder = "cache";
  options.tiers.write_policy = TierWritePolicy::kThrough;
  options.tiers.prefetch_policy = PrefetchPolicy::kWait;
  Tokens prompt;
  for (int i = 0; i < 200; ++i) {
    prompt.push_back(static_cast<TokenId>(4 + i * 37 % 256));
  }
  Request request = EngineScene::greedy(prompt, 12);
  request.sampling.logprobs = true;
  RecordingSink computed;
  RecordingSink restored;
  for (RecordingSink* sink : {&computed, &restored}) {
    const auto engine = model.new_engine(options, 16);
    ASSERT_TRUE(engine->submit(request, *sink).ok());
    while (engine->step()) {
    }
  }
  EXPECT_EQ(computed.last.usage.cached_tokens, 0);
  EXPECT_EQ(restored.last.usage.cached_tokens, 192);
  EXPECT_EQ(restored.tokens, computed.tokens);
  for (std::size_t i = 0; i < computed.emitted.size(); ++i) {
    EXPECT_EQ(restored.emitted[i].logprob, computed.emitted[i].logprob);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, EngineOnModel,
                         testing::Values(ModelCase{"llama_ref", "llama", "F32", false},
                                         ModelCase{"qwen3_cpu", "qwen3", "Q8_0", true},
                                         ModelCase{"gemma3_cpu", "gemma3", "F32", true}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace plumb
