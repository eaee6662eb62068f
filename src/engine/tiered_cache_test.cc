// SPDX-License-Identifier: Apache-2.0
#include "engine/tiered_cache.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "base/log.h"
#include "engine/engine_test_scene.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

// An engine of 64 blocks of 4 tokens with tiers, and a disk that outlives it.
class TieredCacheTest : public testing::Test {
 protected:
  TieredCacheTest() {
    options_ = EngineScene::small_options();
    options_.tiers.host_bytes = 400 * EngineScene::kBlockBytes;
    options_.tiers.disk_bytes = 1 << 20;
    options_.tiers.write_policy = TierWritePolicy::kThrough;
    LogOptions log;
    log.sink = [this](std::string_view line) { lines_.emplace_back(line); };
    init_log(std::move(log));
  }

  ~TieredCacheTest() override { init_log({}); }

  void use_disk() { options_.tiers.disk_folder = "cache"; }

  std::unique_ptr<EngineScene> new_engine(const std::string& model_id = "scripted") {
    return std::make_unique<EngineScene>(options_, ScriptedModel::Options{}, &files_, model_id);
  }

  // Answers the prompt, checks the answer, and returns the tokens that were cached.
  static std::int64_t ask(EngineScene& scene, const Tokens& prompt,
                          const std::string& cache_namespace = "") {
    RecordingSink sink;
    Request request = EngineScene::greedy(prompt, 4);
    request.cache_namespace = cache_namespace;
    scene.submit(std::move(request), sink);
    scene.run();
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 4));
    scene.expect_idle_and_whole();
    return sink.last.usage.cached_tokens;
  }

  // Takes every block of the device for other prompts.
  static void flood(EngineScene& scene) {
    for (const TokenId seed : {21, 22, 23}) {
      ask(scene, prompt_of(seed, 240));
    }
  }

  static KvTierStats tiers(const EngineScene& scene) { return scene.engine->stats().tiers; }

  EngineOptions options_;
  MemFiles files_;
  std::vector<std::string> lines_;
};

TEST_F(TieredCacheTest, an_evicted_prefix_comes_back_from_memory) {
  const auto scene = new_engine();
  const Tokens prompt = prompt_of(1, 100);
  EXPECT_EQ(ask(*scene, prompt), 0);
  flood(*scene);
  EXPECT_EQ(ask(*scene, prompt), 96);
  EXPECT_EQ(tiers(*scene).host_hit_tokens, 96);
  EXPECT_EQ(tiers(*scene).disk_hit_tokens, 0);
  EXPECT_EQ(tiers(*scene).num_loads, 1);
  EXPECT_EQ(scene->engine->stats().num_prefix_hits, 1);
}

// Where layers have a window, the middle of an answer is kept without their part.
TEST_F(TieredCacheTest, a_prefix_comes_back_as_far_as_its_window_was_kept) {
  use_disk();
  ScriptedModel::Options windowed;
  windowed.window = 8;
  const auto asked = [&](const Tokens& prompt, std::int64_t max_tokens) {
    EngineScene scene(options_, windowed, &files_);  // with nothing but the disk
    RecordingSink sink;
    scene.submit(EngineScene::greedy(prompt, max_tokens), sink);
    scene.run();
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, max_tokens));
    scene.expect_idle_and_whole();
    EXPECT_EQ(tiers(scene).disk_hit_tokens, sink.last.usage.cached_tokens);
    return sink;
  };
  options_.tiers.prefetch_policy = PrefetchPolicy::kWait;
  const Tokens prompt = prompt_of(1, 40);
  const RecordingSink first = asked(prompt, 80);
  EXPECT_EQ(first.last.usage.cached_tokens, 0);
  Tokens conversation = prompt;
  conversation.insert(conversation.end(), first.tokens.begin(), first.tokens.end());
  const Tokens middle(conversation.begin(), conversation.begin() + 80);
  EXPECT_EQ(asked(middle, 1).last.usage.cached_tokens, 40);
  // What was computed again has taken the place of what lacked a part, on the disk too.
  EXPECT_EQ(asked(middle, 1).last.usage.cached_tokens, 76);
  conversation.push_back(7);
  EXPECT_EQ(asked(conversation, 1).last.usage.cached_tokens, 116);
}

TEST_F(TieredCacheTest, the_part_that_the_device_still_has_is_not_loaded) {
  const auto scene = new_engine();
  const Tokens prompt = prompt_of(1, 200);
  ask(*scene, prompt);
  ask(*scene, prompt_of(2, 120));  // takes 30 of 64 blocks: the end of the first prompt goes
  const std::int64_t before = tiers(*scene).host_hit_tokens;
  EXPECT_EQ(before, 0);
  EXPECT_EQ(ask(*scene, prompt), 196);
  EXPECT_GT(tiers(*scene).host_hit_tokens, 0);
  EXPECT_LT(tiers(*scene).host_hit_tokens, 196);
}

TEST_F(TieredCacheTest, write_through_copies_at_once_selective_at_the_second_use) {
  options_.tiers.write_policy = TierWritePolicy::kThrough;
  auto scene = new_engine();
  ask(*scene, prompt_of(1, 42));
  EXPECT_EQ(tiers(*scene).host.num_blocks, 11);  // 45 tokens computed, the answer's among them
  options_.tiers.write_policy = TierWritePolicy::kSelective;
  scene = new_engine();
  ask(*scene, prompt_of(1, 42));
  EXPECT_EQ(tiers(*scene).host.num_blocks, 0);
  ask(*scene, prompt_of(1, 42));
  EXPECT_EQ(tiers(*scene).host.num_blocks, 10);
}

TEST_F(TieredCacheTest, write_back_copies_what_is_evicted) {
  options_.tiers.write_policy = TierWritePolicy::kBack;
  const auto scene = new_engine();
  const Tokens prompt = prompt_of(1, 100);
  ask(*scene, prompt);
  ask(*scene, prompt);
  EXPECT_EQ(tiers(*scene).host.num_blocks, 0);
  flood(*scene);
  EXPECT_GE(tiers(*scene).host.num_blocks, 25);
  EXPECT_EQ(ask(*scene, prompt), 96);
}

TEST_F(TieredCacheTest, a_restarted_engine_finds_the_prefix_on_the_disk) {
  use_disk();
  const Tokens prompt = prompt_of(1, 100);
  ask(*new_engine(), prompt);
  const auto scene = new_engine();
  EXPECT_EQ(ask(*scene, prompt), 96);
  EXPECT_EQ(tiers(*scene).disk_hit_tokens, 96);
  EXPECT_EQ(tiers(*scene).host_hit_tokens, 0);
  EXPECT_EQ(ask(*scene, prompt), 99);  // from the device, with a part of a block
  EXPECT_EQ(tiers(*scene).disk_hit_tokens, 96);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(TieredCacheTest, neither_another_model_nor_another_block_size_reads_the_blocks) {
  use_disk();
  const Tokens prompt = prompt_of(1, 100);
  ask(*new_engine("one"), prompt);
  EXPECT_EQ(ask(*new_engine("two"), prompt), 0);
  EXPECT_EQ(ask(*new_engine("one"), prompt), 96);
  ScriptedModel::Options wide;
  wide.block_size = 8;
  EngineScene scene(options_, wide, &files_, "one");
  EXPECT_EQ(ask(scene, prompt), 0);
}

TEST_F(TieredCacheTest, namespaces_share_nothing_in_any_tier) {
  use_disk();
  const Tokens prompt = prompt_of(1, 100);
  auto scene = new_engine();
  ask(*scene, prompt, "a");
  flood(*scene);
  EXPECT_EQ(ask(*scene, prompt, "b"), 0);
  scene.reset();
  scene = new_engine();
  EXPECT_EQ(ask(*scene, prompt, "c"), 0);
  EXPECT_EQ(ask(*scene, prompt, "a"), 96);
}

TEST_F(TieredCacheTest, a_flushed_cache_is_empty_in_every_tier_and_stays_so) {
  use_disk();
  const Tokens prompt = prompt_of(1, 100);
  {
    const auto scene = new_engine();
    ask(*scene, prompt);
    ASSERT_TRUE(scene->engine->flush_cache().ok());
    EXPECT_EQ(ask(*scene, prompt), 0);
    ASSERT_TRUE(scene->engine->flush_cache().ok());
  }
  EXPECT_EQ(ask(*new_engine(), prompt), 0);
}

TEST_F(TieredCacheTest, best_effort_does_not_wait_and_wait_does) {
  use_disk();
  const Tokens prompt = prompt_of(1, 100);
  ask(*new_engine(), prompt);
  options_.tiers.prefetch_policy = PrefetchPolicy::kBestEffort;
  EXPECT_EQ(ask(*new_engine(), prompt), 0);
  options_.tiers.prefetch_policy = PrefetchPolicy::kWait;
  EXPECT_EQ(ask(*new_engine(), prompt), 96);
}

TEST_F(TieredCacheTest, a_damaged_file_is_a_miss_and_one_line) {
  use_disk();
  const Tokens prompt = prompt_of(1, 60);
  ask(*new_engine(), prompt);
  const std::string path = files_.files.begin()->first;
  const std::string whole = *files_.files.begin()->second;
  const std::size_t num_read = 64 + 14 * (40 + 128);  // the last block is not asked for
  for (std::size_t at = 0; at < num_read; at += 7) {
    files_.files.clear();
    files_.files[path] = std::make_shared<std::string>(whole);
    char& byte = (*files_.files[path])[at];
    byte = static_cast<char>(byte ^ 0x10);
    lines_.clear();
    EXPECT_LT(ask(*new_engine(), prompt), 60);
    EXPECT_EQ(lines_.size(), 1U) << "byte " << at;
  }
}

TEST_F(TieredCacheTest, a_file_cut_anywhere_gives_its_whole_blocks) {
  use_disk();
  const Tokens prompt = prompt_of(1, 60);
  ask(*new_engine(), prompt);
  const std::string path = files_.files.begin()->first;
  const std::string whole = *files_.files.begin()->second;
  std::int64_t last = 0;
  for (std::size_t len = 0; len < whole.size(); len += 5) {
    files_.files.clear();
    files_.files[path] = std::make_shared<std::string>(whole.substr(0, len));
    const std::int64_t num_cached = ask(*new_engine(), prompt);
    EXPECT_GE(num_cached, last);
    last = num_cached;
  }
  EXPECT_EQ(last, 56);
}

TEST_F(TieredCacheTest, a_full_or_read_only_disk_costs_one_line) {
  use_disk();
  for (const bool is_full : {true, false}) {
    files_.files.clear();
    files_.space_left = is_full ? 500 : 1 << 20;
    files_.read_only = !is_full;
    lines_.clear();
    const auto scene = new_engine();
    const Tokens prompt = prompt_of(1, 100);
    ask(*scene, prompt);
    flood(*scene);
    EXPECT_EQ(ask(*scene, prompt), 96);  // from memory
    EXPECT_EQ(lines_.size(), 1U);
    EXPECT_FALSE(tiers(*scene).disk.can_write);
    EXPECT_GT(tiers(*scene).disk.num_dropped, 0);
  }
}

TEST_F(TieredCacheTest, the_second_engine_of_a_folder_goes_without_it) {
  use_disk();
  const Tokens prompt = prompt_of(1, 100);
  const auto first = new_engine();
  ask(*first, prompt);
  const auto second = new_engine();
  EXPECT_EQ(ask(*second, prompt), 0);
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_EQ(ask(*first, prompt), 99);
}

TEST_F(TieredCacheTest, a_prefix_larger_than_memory_is_restored_in_part) {
  use_disk();
  const Tokens prompt = prompt_of(1, 240);
  ask(*new_engine(), prompt);
  options_.tiers.host_bytes = 20 * EngineScene::kBlockBytes;
  EXPECT_EQ(ask(*new_engine(), prompt), 16 * 4);
}

TEST_F(TieredCacheTest, a_lost_device_ends_the_engine_not_the_process) {
  const auto scene = new_engine();
  ask(*scene, prompt_of(1, 100));
  flood(*scene);
  RecordingSink sink;
  scene->backend.device_is_lost = true;
  scene->submit(EngineScene::greedy(prompt_of(1, 100), 4), sink);
  scene->engine->step();
  EXPECT_EQ(sink.last.status, Code::kDeviceLost);
  EXPECT_EQ(scene->engine->stats().state, EngineState::kFailed);
}

Status created(const EngineOptions& options, const std::string& model_id) {
  ScriptedBackend backend;
  const FakeClock clock;
  EngineParts parts;
  parts.model = std::make_unique<ScriptedModel>(ScriptedModel::Options{});
  parts.backend = &backend;
  parts.ops = backend.ops();
  parts.clock = &clock;
  parts.model_id = model_id;
  return Engine::create(options, std::move(parts)).status();
}

TEST_F(TieredCacheTest, a_folder_that_cannot_be_used_is_refused_at_the_start) {
  EngineOptions options = options_;
  const std::string file = testing::TempDir() + "plumb_no_folder_" + std::to_string(::getpid());
  std::ofstream(file) << "text";
  options.tiers.disk_folder = file;
  EXPECT_EQ(created(options, "m").message(), "--disk-cache-dir: " + file + ": is not a folder");
  options.tiers.disk_folder = file + "/below";
  EXPECT_NE(created(options, "m").message().find("disk-cache-dir: " + file), std::string::npos);
  ::unlink(file.c_str());
  options.tiers.disk_folder = "/proc/nope";
  EXPECT_NE(created(options, "m").message().find("disk-cache-dir: /proc/nope"), std::string::npos);
}

TEST_F(TieredCacheTest, options_that_contradict_each_other_are_refused_with_the_numbers) {
  EngineOptions options = options_;
  options.prefix_cache = false;
  EXPECT_NE(created(options, "m").message().find("prefix-cache"), std::string::npos);
  options = options_;
  options.tiers.host_bytes = 255;
  EXPECT_NE(created(options, "m").message().find("host-cache-bytes is 255"), std::string::npos);
  options = options_;
  options.tiers.disk_folder = "cache";
  EXPECT_NE(created(options, "").message().find("disk-cache-dir"), std::string::npos);
  options.tiers.disk_bytes = 700;
  EXPECT_NE(created(options, "m").message().find("disk-cache-bytes is 700"), std::string::npos);
}

// Tiers on a cache without an engine, whose steps the test takes itself.
struct BareTiers {
  BareTiers(const EngineOptions& options, std::int64_t num_blocks, MemFiles& files) {
    cache =
        KvCache::create(model.kv_layout(), {.num_blocks = num_blocks}, backend.allocator()).value();
    TierParts parts;
    parts.cache = cache.get();
    parts.backend = &backend;
    parts.stream = stream.get();
    parts.clock = &clock;
    parts.files = &files;
    parts.layout = model.kv_layout();
    parts.model_id = "m";
    tiers = TieredCache::create(options, parts).value();
  }

  ScriptedBackend backend;
  FakeClock clock;
  const ScriptedModel model{ScriptedModel::Options{}};
  const std::unique_ptr<Stream> stream = backend.new_stream();
  std::unique_ptr<KvCache> cache;
  std::unique_ptr<TieredCache> tiers;
};

// A waiting sequence is held while its blocks are on their way, 1 s and 0.25 s for 1024 tokens at
// most.
TEST_F(TieredCacheTest, a_waiting_sequence_is_held_for_a_limited_time) {
  use_disk();
  for (const PrefetchPolicy policy :
       {PrefetchPolicy::kBestEffort, PrefetchPolicy::kTimeout, PrefetchPolicy::kWait}) {
    options_.tiers.prefetch_policy = policy;
    BareTiers bare(options_, 8, files_);
    Sequence seq;
    seq.tokens = prompt_of(1, 1025);
    bare.tiers->prefetch(seq);
    EXPECT_EQ(bare.tiers->holds(seq), policy != PrefetchPolicy::kBestEffort);
    bare.clock.advance(std::chrono::milliseconds(1249));
    EXPECT_EQ(bare.tiers->holds(seq), policy != PrefetchPolicy::kBestEffort);
    bare.clock.advance(std::chrono::milliseconds(1));
    EXPECT_EQ(bare.tiers->holds(seq), policy == PrefetchPolicy::kWait);
    bare.tiers->poll();
    EXPECT_FALSE(bare.tiers->holds(seq));
  }
}

TEST_F(TieredCacheTest, a_block_that_was_taken_again_is_not_copied_under_its_old_name) {
  options_.tiers.host_bytes = 2 * EngineScene::kBlockBytes;
  BareTiers bare(options_, 4, files_);
  Sequence seq;
  seq.tokens = prompt_of(1, 16);
  seq.num_computed = 16;
  bare.cache->grow(16, &seq.blocks);
  bare.cache->store("", seq.tokens, {}, &seq.blocks);
  bare.tiers->on_stored(seq);  // four blocks are to be copied
  bare.cache->release(&seq.blocks);
  ASSERT_TRUE(bare.tiers->on_evicted(bare.cache->make_free({4, 0}).full).ok());
  EXPECT_EQ(bare.tiers->stats().host.num_stored, 2);  // there is no room for more
  SeqBlocks other;
  bare.cache->grow(16, &other);
  ASSERT_TRUE(bare.tiers->copy_out(1 << 20).ok());
  EXPECT_EQ(bare.tiers->stats().host.num_stored, 2);
  EXPECT_FALSE(bare.tiers->has_work());
  bare.cache->release(&other);
}

// With threads and real files.
TEST(TieredCacheThreads, a_restarted_engine_finds_the_prefix_in_its_folder) {
  const std::string folder = testing::TempDir() + "plumb_tiers_" + std::to_string(::getpid());
  EngineOptions options = EngineScene::small_options();
  options.tiers.host_bytes = 1 << 20;
  options.tiers.disk_folder = folder;
  options.tiers.write_policy = TierWritePolicy::kThrough;
  options.tiers.prefetch_policy = PrefetchPolicy::kWait;
  const Tokens prompt = prompt_of(1, 100);
  for (const std::int64_t expected : {0, 96}) {
    ScriptedBackend backend;
    EngineParts parts;
    parts.model = std::make_unique<ScriptedModel>(ScriptedModel::Options{});
    parts.backend = &backend;
    parts.ops = backend.ops();
    parts.clock = &system_clock();
    parts.model_id = "scripted";
    const auto engine = Engine::create(options, std::move(parts)).value();
    engine->start();
    RecordingSink sink;
    ASSERT_TRUE(engine->submit(EngineScene::greedy(prompt, 4), sink).ok());
    ASSERT_TRUE(engine->wait_until_idle(system_clock().now() + std::chrono::seconds(60)));
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 4));
    EXPECT_EQ(sink.last.usage.cached_tokens, expected);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plumb
