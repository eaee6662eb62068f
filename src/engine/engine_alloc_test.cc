// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "engine/engine_alloc_test_counter.h"
#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

class SilentSink final : public EventSink {
 public:
  void on_event(StreamEvent) override { ++num_events; }

  std::int64_t num_events = 0;
};

// A model that looks at nothing, so that only the engine allocates.
class ConstantModel final : public ScriptedModel {
 public:
  using ScriptedModel::ScriptedModel;

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache>) const override {
    const Tensor logits =
        op.workspace().allocate(DType::kF32, {batch.logits_rows.dim(0), facts().vocab_size});
    if (logits.address != nullptr) {
      std::fill_n(logits.as<float>(), logits.num_elements(), 0.5F);
    }
    return logits;
  }
};

TEST(EngineAllocation, the_counter_sees_what_is_allocated) {
  AllocationCount::begin();
  auto* number = new std::int64_t(7);
  void* aligned = std::aligned_alloc(64, 128);
  const std::int64_t num_allocated = AllocationCount::end();
  EXPECT_EQ(*number, 7);
  EXPECT_NE(aligned, nullptr);
  delete number;
  std::free(aligned);
  EXPECT_GE(num_allocated, 1);  // with a sanitizer operator new alone is counted
  EXPECT_LE(num_allocated, 2);
  AllocationCount::begin();
  EXPECT_EQ(AllocationCount::end(), 0);
}

TEST(EngineAllocation, a_decode_step_allocates_its_events_and_nothing_else) {
  std::vector<SilentSink> sinks(3);  // they outlive the engine
  ScriptedBackend backend;
  FakeClock clock;
  EngineParts parts;
  parts.model = std::make_unique<ConstantModel>(ScriptedModel::Options{});
  parts.backend = &backend;
  parts.ops = backend.ops();
  parts.clock = &clock;
  auto engine = Engine::create(EngineScene::small_options(), std::move(parts)).value();
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    Request request = EngineScene::greedy({1, 2, 3}, 60);
    request.sampling.temperature = i == 0 ? 0.0 : 1.0;
    request.sampling.top_p = i == 2 ? 0.5 : 1.0;
    ASSERT_TRUE(engine->submit(std::move(request), sinks[i]).ok());
  }
  for (int i = 0; i < 5; ++i) {
    engine->step();
  }
  const std::int64_t num_events = sinks[0].num_events + sinks[1].num_events + sinks[2].num_events;
  AllocationCount::begin();
  for (int i = 0; i < 40; ++i) {
    engine->step();
  }
  const std::int64_t num_allocated = AllocationCount::end();
  const std::int64_t num_new_events =
      sinks[0].num_events + sinks[1].num_events + sinks[2].num_events - num_events;
  EXPECT_EQ(num_new_events, 120);
  EXPECT_EQ(num_allocated, num_new_events);  // the token list of each
}

}  // namespace
}  // namespace plumb
