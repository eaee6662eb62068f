// SPDX-License-Identifier: Apache-2.0
// How tenants share memory and disk behind the KV cache.
#include "engine/engine_test_scene.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

// Prompts of 41 tokens, ten blocks, without a common beginning.
Tokens named_prompt(int name) {
  Tokens tokens{static_cast<TokenId>(name % 50), static_cast<TokenId>(name / 50)};
  for (TokenId i = 0; i < 39; ++i) {
    tokens.push_back(i);
  }
  return tokens;
}

// Engines of 64 blocks; memory has room for eight prompts.
class TieredTenantsTest : public testing::Test {
 protected:
  TieredTenantsTest() {
    options_ = EngineScene::small_options();
    options_.tiers.host_bytes = 80 * EngineScene::kBlockBytes;
    options_.tiers.write_policy = TierWritePolicy::kThrough;
  }

  void start() {
    scene_.reset();
    scene_ = std::make_unique<EngineScene>(options_, ScriptedModel::Options{}, &files_);
  }

  // With the namespace that a server gives each key.
  std::int64_t ask(const std::string& tenant, int name) {
    RecordingSink sink;
    Request request = EngineScene::greedy(named_prompt(name), 1);
    request.tenant = tenant;
    request.cache_namespace = "namespace of " + tenant;
    scene_->submit(std::move(request), sink);
    scene_->run();
    EXPECT_EQ(sink.tokens, EngineScene::truth(named_prompt(name), 1));
    return sink.last.usage.cached_tokens;
  }

  // Many more prompts than all tiers have room for.
  void flood(const std::string& tenant) {
    for (int name = 100; name < 200; ++name) {
      ask(tenant, name);
    }
  }

  EngineOptions options_;
  MemFiles files_;
  std::unique_ptr<EngineScene> scene_;
};

TEST_F(TieredTenantsTest, one_key_cannot_push_another_out_of_memory) {
  start();
  for (const int name : {1, 2, 3, 4}) {
    EXPECT_EQ(ask("light", name), 0);
  }
  flood("heavy");
  for (const int name : {1, 2, 3, 4}) {  // half of the memory
    EXPECT_EQ(ask("light", name), 40) << name;
  }
  EXPECT_EQ(scene_->engine->stats().tiers.host_hit_tokens, 160);
}

TEST_F(TieredTenantsTest, beyond_an_equal_share_a_key_gives_its_own_oldest) {
  start();
  for (int name = 1; name <= 8; ++name) {
    ask("light", name);
  }
  flood("heavy");
  std::int64_t num_left = 0;
  for (int name = 8; name >= 1; --name) {
    const bool is_left = ask("light", name) == 40;
    EXPECT_EQ(is_left, name > 4) << name;
    num_left += is_left ? 1 : 0;
  }
  EXPECT_EQ(num_left, 4);
}

TEST_F(TieredTenantsTest, a_key_alone_has_all_of_the_memory) {
  start();
  for (int name = 1; name <= 8; ++name) {
    ask("alone", name);
  }
  for (int name = 8; name >= 1; --name) {
    EXPECT_EQ(ask("alone", name), 40) << name;
  }
}

TEST_F(TieredTenantsTest, many_salts_of_one_key_are_one_share) {
  start();
  for (const int name : {1, 2, 3, 4}) {
    ask("light", name);
  }
  for (int name = 100; name < 160; ++name) {
    RecordingSink sink;
    Request request = EngineScene::greedy(named_prompt(name), 1);
    request.tenant = "heavy";
    request.cache_namespace = "salt " + std::to_string(name);
    scene_->submit(std::move(request), sink);
    scene_->run();
  }
  for (const int name : {1, 2, 3, 4}) {
    EXPECT_EQ(ask("light", name), 40) << name;
  }
}

// The disk has room for sixteen prompts and knows the owners of its blocks over restarts.
TEST_F(TieredTenantsTest, one_key_cannot_push_another_out_of_the_disk_before_or_after_a_restart) {
  constexpr std::int64_t kRecordBytes = EngineScene::kBlockBytes + 40;
  options_.tiers.disk_folder = "cache";
  options_.tiers.disk_bytes = 160 * kRecordBytes;
  for (const int num_restarts : {0, 1}) {
    files_.files.clear();
    start();
    for (const int name : {1, 2, 3, 4}) {
      EXPECT_EQ(ask("light", name), 0);
    }
    for (int i = 0; i < num_restarts; ++i) {
      start();
    }
    flood("heavy");
    EXPECT_LE(files_.num_bytes(), options_.tiers.disk_bytes);
    start();  // with an empty memory
    for (const int name : {1, 2, 3, 4}) {
      EXPECT_EQ(ask("light", name), 40) << name << " after " << num_restarts;
    }
    EXPECT_EQ(scene_->engine->stats().tiers.disk_hit_tokens, 160);
  }
}

}  // namespace
}  // namespace plumb
