// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/engine_test_scene.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

// Says what the usual model says, one token id further.
std::unique_ptr<Model> shifted_model() {
  ScriptedModel::Options options;
  options.script = [](std::span<const TokenId> context, std::span<float> logits) {
    std::vector<float> usual(logits.size());
    ScriptedModel::hash_logits(context, usual);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[(i + 1) % logits.size()] = usual[i];
    }
  };
  return std::make_unique<ScriptedModel>(options);
}

RecordingSink answer_of(EngineScene& scene, TokenId seed) {
  RecordingSink sink;
  scene.submit(EngineScene::greedy(prompt_of(seed, 16), 4), sink);
  scene.run();
  EXPECT_TRUE(sink.has_ended());
  return sink;
}

std::int64_t num_resident(const void* address, std::int64_t num_bytes) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> pages(static_cast<std::size_t>((num_bytes + page - 1) / page));
  EXPECT_EQ(::mincore(const_cast<void*>(address),  // NOLINT: mincore writes nothing
                      static_cast<std::size_t>(num_bytes), pages.data()),
            0);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1U) != 0; });
}

TEST(EngineMaintenance, an_engine_in_use_stays_open_and_says_who_uses_it) {
  EngineScene scene;
  RecordingSink running;
  scene.submit(EngineScene::greedy(prompt_of(1, 9), 12), running);
  EXPECT_EQ(scene.engine->close("x"),
            (Status{Code::kInvalidArgument, "the engine is in use: 0 requests run, 1 wait"}));
  scene.engine->step();
  EXPECT_EQ(scene.engine->close("x").message(), "the engine is in use: 1 requests run, 0 wait");
  scene.run();
  EXPECT_EQ(running.tokens, EngineScene::truth(prompt_of(1, 9), 12));
  EXPECT_TRUE(scene.engine->close("x").ok());
}

TEST(EngineMaintenance, a_closed_engine_refuses_with_its_reason) {
  EngineScene scene;
  ASSERT_TRUE(scene.engine->close("it is cleaned").ok());
  RecordingSink sink;
  EXPECT_EQ(scene.engine->submit(EngineScene::greedy({1, 2}, 1), sink).status(),
            (Status{Code::kUnavailable, "it is cleaned"}));
  EXPECT_EQ(scene.engine->flush_cache(), (Status{Code::kUnavailable, "it is cleaned"}));
  EXPECT_TRUE(scene.engine->close("it is painted").ok());
  EXPECT_EQ(scene.engine->submit(EngineScene::greedy({1, 2}, 1), sink).status().message(),
            "it is painted");
  scene.engine->open();
  EXPECT_EQ(answer_of(scene, 1).tokens, EngineScene::truth(prompt_of(1, 16), 4));
  scene.expect_idle_and_whole();
}

TEST(EngineMaintenance, another_model_answers_without_the_prefixes_of_the_former) {
  EngineScene scene;
  answer_of(scene, 1);
  EXPECT_EQ(answer_of(scene, 1).last.usage.cached_tokens, 15);
  ASSERT_TRUE(scene.engine->close("weights").ok());
  const std::unique_ptr<Model> former = scene.engine->exchange_model(shifted_model(), "second");
  EXPECT_NE(former, nullptr);
  scene.engine->open();
  const RecordingSink cold = answer_of(scene, 1);
  EXPECT_EQ(cold.last.usage.cached_tokens, 0);
  EXPECT_EQ(cold.tokens.front(), (EngineScene::truth(prompt_of(1, 16), 1).front() + 1) % 50);
  const RecordingSink warm = answer_of(scene, 1);
  EXPECT_EQ(warm.last.usage.cached_tokens, 15) << "its own prefixes are found";
  EXPECT_EQ(warm.tokens, cold.tokens);
  scene.expect_idle_and_whole();
}

TEST(EngineMaintenance, the_same_weights_find_their_prefixes_again) {
  EngineScene scene;
  const std::vector<TokenId> before = answer_of(scene, 1).tokens;
  ASSERT_TRUE(scene.engine->close("weights").ok());
  scene.engine->exchange_model(nullptr, "");
  EXPECT_EQ(scene.engine->model_facts().vocab_size, 50) << "without a model";
  scene.engine->exchange_model(std::make_unique<ScriptedModel>(ScriptedModel::Options{}), "");
  scene.engine->open();
  const RecordingSink after = answer_of(scene, 1);
  EXPECT_EQ(after.tokens, before);
  EXPECT_EQ(after.last.usage.cached_tokens, 15);
}

TEST(EngineMaintenance, released_memory_is_empty_and_usable_again) {
  EngineScene scene;
  answer_of(scene, 1);
  ASSERT_TRUE(scene.engine->close("memory").ok());
  EXPECT_TRUE(scene.engine->release_cache_memory().ok());
  EXPECT_TRUE(scene.engine->release_cache_memory().ok()) << "again";
  scene.engine->open();
  const RecordingSink after = answer_of(scene, 1);
  EXPECT_EQ(after.last.usage.cached_tokens, 0);
  EXPECT_EQ(after.tokens, EngineScene::truth(prompt_of(1, 16), 4));
  scene.expect_idle_and_whole();
}

TEST(EngineMaintenance, an_engine_that_is_closed_can_be_stopped) {
  EngineScene scene;
  scene.engine->start();
  ASSERT_TRUE(scene.engine->wait_until_idle(scene.clock.now()));
  ASSERT_TRUE(scene.engine->close("memory").ok());
  scene.engine->exchange_model(nullptr, "");
  scene.engine->stop();
  EXPECT_EQ(scene.engine->close("x").code(), Code::kUnavailable);
}

TEST(EngineMaintenance, the_pages_of_a_cache_go_back_to_the_system) {
  KvLayout layout;
  layout.block_size = 16;
  KvGroup group;
  group.num_kv_heads = 2;
  group.head_dim = 64;
  group.dtype = DType::kF32;
  group.layers = {0, 1};
  layout.groups.push_back(group);
  Result<std::unique_ptr<KvCache>> made =
      KvCache::create(layout, {.num_blocks = 1024}, host_allocator());
  ASSERT_TRUE(made.ok());
  KvCache& cache = *made.value();
  std::int64_t num_pages = 0;
  for (const KvLayerCache& layer : cache.layers()) {
    const std::int64_t num_bytes = layer.k.shape.num_elements() * 4;
    std::fill_n(layer.k.as<float>(), layer.k.shape.num_elements(), 1.0F);
    num_pages += num_bytes / ::sysconf(_SC_PAGESIZE);
    EXPECT_EQ(num_resident(layer.k.address, num_bytes), num_bytes / ::sysconf(_SC_PAGESIZE));
  }
  EXPECT_EQ(num_pages * ::sysconf(_SC_PAGESIZE), std::int64_t{2} * 1024 * 16 * 2 * 64 * 4);
  cache.discard_memory();
  for (const KvLayerCache& layer : cache.layers()) {
    EXPECT_EQ(num_resident(layer.k.address, layer.k.shape.num_elements() * 4), 0);
    layer.k.as<float>()[7] = 2.0F;
    EXPECT_EQ(layer.k.as<float>()[7], 2.0F);
  }
}

}  // namespace
}  // namespace plumb
