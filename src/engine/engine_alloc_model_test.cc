// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/synthesize.h"
#include "engine/engine_alloc_test_counter.h"
#include "engine/engine_test_scene.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/meta/meta_backend.h"
#include "model/families.h"

namespace plumb {
namespace {

struct AllocationCase {
  const char* name;
  const char* architecture;
  const char* quant;
};

class CountingSink final : public EventSink {
 public:
  void on_event(StreamEvent event) override {
    ++num_events;
    has_ended |= event.finish != FinishReason::kNone;
  }

  std::int64_t num_events = 0;
  bool has_ended = false;
};

/// An engine on a tiny generated checkpoint and the CPU's kernels, stepped by the test.
class ModelAllocation : public testing::TestWithParam<AllocationCase> {
 protected:
  void SetUp() override {
#ifndef NDEBUG
    GTEST_SKIP() << "this build checks the inputs of each op, and makes texts for that";
#endif
    path_ = std::filesystem::path(testing::TempDir()) /
            ("plumb_alloc_" + std::to_string(::getpid()) + "_" + GetParam().name + ".gguf");
    SynthesisSpec spec;
    spec.architecture = GetParam().architecture;
    spec.quant = GetParam().quant;
    spec.context_len = 512;
    spec.sliding_window = spec.architecture == "gemma3" ? 24 : 0;
    ASSERT_TRUE(synthesize_gguf(spec, path_.string()).ok());
    backend_ = make_cpu_backend({.num_threads = 2}).value();
    checkpoint_ = Checkpoint::open(path_.string()).value();
    EngineParts parts;
    parts.model = load_model({*checkpoint_, *backend_, {}, DType::kF16, 16}).value();
    parts.backend = backend_.get();
    parts.ops = backend_->ops();
    parts.meta_ops = &meta_->ops();
    parts.clock = &clock_;
    EngineOptions options;
    options.max_num_seqs = 4;
    options.chunk_tokens = 256;
    options.kv_cache_bytes = 8 << 20;
    Result<std::unique_ptr<Engine>> engine = Engine::create(options, std::move(parts));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(engine).value();
  }

  void TearDown() override {
    engine_.reset();
    std::filesystem::remove(path_);
  }

  std::filesystem::path path_;
  FakeClock clock_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<MetaBackend> meta_ = make_meta_backend();
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Models, ModelAllocation,
                         testing::Values(AllocationCase{"llama_q4", "llama", "Q4_K_M"},
                                         AllocationCase{"qwen3_f32", "qwen3", "F32"},
                                         AllocationCase{"qwen2_q8", "qwen2", "Q8_0"},
                                         AllocationCase{"gemma3_window", "gemma3", "BF16"}),
                         [](const auto& model) { return model.param.name; });

// The list of tokens of each event goes to who asked, who keeps it: one allocation an event. All
// else of a step (planning, blocks, inputs, forward code, kernels, choice) uses what it has, while
// the contexts grow over several blocks. The steps before make the memory for partial results of
// attention (contexts beyond 128 tokens; it grows by half at a time), and let the window pass the
// blocks of the prompt, which the prefix cache lists then.
TEST_P(ModelAllocation, a_decode_step_allocates_its_events_and_nothing_else) {
  std::array<CountingSink, 4> sinks;
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    Request request = EngineScene::greedy(counting(4, 140 + static_cast<std::int64_t>(i)), 200);
    request.sampling.temperature = i == 0 ? 0.0 : 1.0;
    request.sampling.top_p = i >= 2 ? 0.5 : 1.0;
    request.sampling.top_k = i == 3 ? 20 : 0;
    ASSERT_TRUE(engine_->submit(std::move(request), sinks[i]).ok());
  }
  const auto num_events = [&] {
    std::int64_t sum = 0;
    for (const CountingSink& sink : sinks) {
      sum += sink.num_events;
    }
    return sum;
  };
  for (int i = 0; i < 60; ++i) {
    engine_->step();
  }
  const std::int64_t before = num_events();
  AllocationCount::begin();
  for (int i = 0; i < 100; ++i) {
    engine_->step();
  }
  const std::int64_t num_allocated = AllocationCount::end();
  EXPECT_EQ(num_events() - before, 400);
  EXPECT_EQ(num_allocated, 400);
  for (const CountingSink& sink : sinks) {
    EXPECT_FALSE(sink.has_ended);
  }
  while (engine_->step()) {
  }
}

}  // namespace
}  // namespace plumb
