// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"
#include "engine/engine_test_scene.h"
#include "ops/cost_stream.h"

namespace plumb {
namespace {

EngineParts parts_on(ScriptedBackend& backend, const Clock& clock,
                     std::unique_ptr<Model> model = nullptr) {
  EngineParts parts;
  parts.model =
      model ? std::move(model) : std::make_unique<ScriptedModel>(ScriptedModel::Options{});
  parts.backend = &backend;
  parts.ops = backend.ops();
  parts.clock = &clock;
  return parts;
}

// Says that it normalises in its dry run.
class NormalisingModel final : public ScriptedModel {
 public:
  using ScriptedModel::ScriptedModel;

  Tensor forward(OpContext& op, const ModelBatch& batch,
                 std::span<const KvLayerCache> caches) const override {
    const Tensor x = op.workspace().allocate(DType::kF32, {batch.token_ids.dim(0), 8});
    op.rms_norm(x, Tensor::dense(nullptr, DType::kF32, {8}), 1e-5F);
    return ScriptedModel::forward(op, batch, caches);
  }
};

// Counts what it is asked for, as the meta back end does.
void record_norm(const RmsNorm& args, Stream& stream) {
  dynamic_cast<CostStream&>(stream).add("rms_norm", cost(args));
}

TEST(EngineCreate, sizes_the_workspace_by_the_largest_step) {
  EngineScene scene;  // 16 + 4 tokens, 4 sequences, 36 rows of 50 logits
  const MemoryPlan& plan = scene.engine->memory_plan();
  EXPECT_GE(plan.workspace_bytes, 20 * 50 * 4);
  EXPECT_EQ(plan.num_blocks, 64);
  EXPECT_EQ(plan.block_bytes, EngineScene::kBlockBytes);
  EXPECT_EQ(scene.engine->limits().kv_tokens, 256);
  EXPECT_EQ(scene.engine->limits().max_context_len, 256);
}

TEST(EngineCreate, names_every_operator_that_the_back_end_lacks) {
  ScriptedBackend backend;
  FakeClock clock;
  OpTable meta;
  meta.rms_norm = record_norm;
  EngineParts parts =
      parts_on(backend, clock, std::make_unique<NormalisingModel>(ScriptedModel::Options{}));
  parts.meta_ops = &meta;
  parts.ops.argmax = nullptr;
  const Status status = Engine::create(EngineScene::small_options(), std::move(parts)).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("rms_norm"), std::string::npos);
  EXPECT_NE(status.message().find("argmax"), std::string::npos);
}

TEST(EngineCreate, refuses_options_that_contradict_the_model) {
  ScriptedBackend backend;
  FakeClock clock;
  EngineOptions options = EngineScene::small_options();
  options.max_context = 257;
  EXPECT_EQ(Engine::create(options, parts_on(backend, clock)).status().code(),
            Code::kInvalidArgument);
  options = EngineScene::small_options();
  options.max_num_seqs = 0;
  EXPECT_EQ(Engine::create(options, parts_on(backend, clock)).status().code(),
            Code::kInvalidArgument);
  options = EngineScene::small_options();
  options.kv_cache_bytes = 3 * EngineScene::kBlockBytes;
  EXPECT_EQ(Engine::create(options, parts_on(backend, clock)).status().code(),
            Code::kResourceExhausted);
  EngineParts parts = parts_on(backend, clock);
  parts.end_tokens = {50};
  EXPECT_EQ(Engine::create(EngineScene::small_options(), std::move(parts)).status().code(),
            Code::kInvalidArgument);
}

TEST(EngineCreate, refuses_a_least_context_that_no_request_can_have) {
  ScriptedBackend backend;
  FakeClock clock;
  EngineOptions options = EngineScene::small_options();
  options.min_context = 257;
  const Status beyond_model = Engine::create(options, parts_on(backend, clock)).status();
  EXPECT_EQ(beyond_model.code(), Code::kInvalidArgument);
  EXPECT_EQ(
      beyond_model.message(),
      "--min-context: 257, a request has at most 256 tokens (--max-context, or what the model "
      "was trained for)");
  options.min_context = 256;
  EXPECT_TRUE(Engine::create(options, parts_on(backend, clock)).ok());
  options.max_context = 128;
  EXPECT_FALSE(Engine::create(options, parts_on(backend, clock)).ok());
  options.min_context = 0;  // 512 where the context is that long
  EXPECT_TRUE(Engine::create(options, parts_on(backend, clock)).ok());
}

TEST(EngineCreate, the_default_queue_takes_the_largest_list_of_prompts) {
  ScriptedBackend backend;
  FakeClock clock;
  EngineOptions options = EngineScene::small_options();
  options.max_queued_requests = 0;
  EXPECT_EQ(Engine::create(options, parts_on(backend, clock)).value()->max_queued_requests(), 2048);
  options.max_queued_requests = 7;
  EXPECT_EQ(Engine::create(options, parts_on(backend, clock)).value()->max_queued_requests(), 7);
}

TEST(EngineCreate, without_a_size_the_cache_takes_free_memory_up_to_what_is_useful) {
  ScriptedBackend backend;
  FakeClock clock;
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 0;
  options.memory_reserve_bytes = 1 << 20;
  const auto engine = Engine::create(options, parts_on(backend, clock)).value();
  EXPECT_EQ(engine->memory_plan().num_blocks, 4 * 256 / 4);
}

TEST(EngineOptions, every_field_keeps_its_value_through_json) {
  EngineOptions options;
  options.evict_policy = EvictStrategy::kSlru;
  options.chunk_tokens = 777;
  options.timeout = std::chrono::milliseconds(1500);
  const JsonObject object = options_to_json(bind_options(options));
  EngineOptions copy;
  EXPECT_TRUE(set_from_json(bind_options(copy), object).empty());
  EXPECT_EQ(copy.evict_policy, EvictStrategy::kSlru);
  EXPECT_EQ(copy.chunk_tokens, 777);
  EXPECT_EQ(copy.timeout, std::chrono::milliseconds(1500));
}

TEST(SchedulerOptions, every_field_keeps_its_value_through_json) {
  SchedulerOptions options;
  options.schedule_policy = ScheduleOrder::kDfsWeight;
  options.priority_order = PriorityOrder::kLowFirst;
  options.mixing = Mixing::kPrefillFirst;
  options.kv_admission = AdmissionKind::kRatio;
  options.tenant_weights = {"a=2"};
  options.itl_target = std::chrono::milliseconds(80);
  const JsonObject object = options_to_json(bind_options(options));
  SchedulerOptions copy;
  EXPECT_TRUE(set_from_json(bind_options(copy), object).empty());
  EXPECT_EQ(options_to_json(bind_options(copy)).size(), object.size());
  EXPECT_EQ(copy.schedule_policy, ScheduleOrder::kDfsWeight);
  EXPECT_EQ(copy.priority_order, PriorityOrder::kLowFirst);
  EXPECT_EQ(copy.mixing, Mixing::kPrefillFirst);
  EXPECT_EQ(copy.kv_admission, AdmissionKind::kRatio);
  EXPECT_EQ(copy.tenant_weights, std::vector<std::string>{"a=2"});
  EXPECT_EQ(copy.itl_target, std::chrono::milliseconds(80));
}

TEST(SchedulerOptions, weights_that_are_none_are_refused_at_the_start) {
  ScriptedBackend backend;
  FakeClock clock;
  EngineOptions options = EngineScene::small_options();
  options.scheduler.tenant_weights = {"team=0"};
  const Status status = Engine::create(options, parts_on(backend, clock)).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("team=0"), std::string::npos);
}

}  // namespace
}  // namespace plumb
