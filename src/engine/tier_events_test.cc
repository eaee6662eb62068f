// SPDX-License-Identifier: Apache-2.0
// What a reader of the cache's events knows of memory and disk.
#include <map>
#include <random>
#include <set>

#include "engine/engine_test_scene.h"
#include "kvcache/block_digest.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;
using Hashes = std::set<BlockHash>;

// The names of the first blocks of a prompt, four tokens each, from their definition.
Hashes hashes_of(const Tokens& tokens, std::int64_t num_blocks) {
  Hashes hashes;
  Digest256 digest{};
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    const auto block = std::span(tokens).subspan(static_cast<std::size_t>(4 * i), 4);
    digest = i == 0 ? chained_digest("", block) : chained_digest(digest, block);
    hashes.insert(block_hash(digest));
  }
  return hashes;
}

// Keeps what lies where by the events alone, as a router does.
struct Reader {
  void follow(const KvEventLog& log) {
    KvEventPage page = log.read(next_seq, 1 << 30);
    EXPECT_FALSE(page.has_gap);
    for (const KvEventBatch& batch : page.batches) {
      EXPECT_EQ(batch.seq, next_seq++);
      for (const KvEvent& event : batch.events) {
        take(event);
      }
    }
  }

  void take(const KvEvent& event) {
    Hashes& place = places[event.medium];
    switch (event.kind) {
      case KvEvent::Kind::kStored:
        EXPECT_EQ(event.block_size, 4);
        EXPECT_EQ(std::ssize(event.tokens),
                  event.medium == KvMedium::kGpu ? 4 * std::ssize(event.blocks) : 0);
        for (const BlockHash& block : event.blocks) {
          EXPECT_TRUE(place.insert(block).second) << "told twice";
          known.insert(block);
        }
        break;
      case KvEvent::Kind::kRemoved:
        for (const BlockHash& block : event.blocks) {
          EXPECT_EQ(place.erase(block), 1U) << "removed from where it was not";
          num_lost += is_anywhere(block) ? 0 : 1;
        }
        break;
      case KvEvent::Kind::kCleared:
        places.clear();
        known.clear();
        break;
    }
  }

  bool is_anywhere(const BlockHash& block) const {
    return std::any_of(places.begin(), places.end(),
                       [&](const auto& place) { return place.second.contains(block); });
  }

  bool has_all(KvMedium medium, const Hashes& blocks) {
    const Hashes& place = places[medium];
    return std::includes(place.begin(), place.end(), blocks.begin(), blocks.end());
  }

  bool has_any(KvMedium medium, const Hashes& blocks) {
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](const BlockHash& block) { return places[medium].contains(block); });
  }

  std::int64_t count(KvMedium medium) { return std::ssize(places[medium]); }

  std::uint64_t next_seq = 0;
  std::map<KvMedium, Hashes> places;
  Hashes known;
  std::int64_t num_lost = 0;  ///< blocks that left their last place
};

// An engine of 64 blocks of 4 tokens with memory, disk, and a reader from its beginning.
class TierEventsTest : public testing::Test {
 protected:
  TierEventsTest() {
    options_ = EngineScene::small_options();
    options_.kv_events = true;
    options_.tiers.host_bytes = 400 * EngineScene::kBlockBytes;
    options_.tiers.disk_bytes = 1 << 20;
    options_.tiers.disk_folder = "cache";
    options_.tiers.write_policy = TierWritePolicy::kThrough;
  }

  void start() {
    scene_.reset();
    scene_ = std::make_unique<EngineScene>(options_, ScriptedModel::Options{}, &files_);
    reader_ = {};
    reader_.next_seq = scene_->engine->kv_events()->next_seq();
  }

  std::int64_t ask(const Tokens& prompt) {
    RecordingSink sink;
    scene_->submit(EngineScene::greedy(prompt, 1), sink);
    scene_->run();
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 1));
    reader_.follow(*scene_->engine->kv_events());
    return sink.last.usage.cached_tokens;
  }

  void flood() {
    for (const TokenId seed : {21, 22, 23}) {
      ask(prompt_of(seed, 240));
    }
  }

  void expect_reader_knows_all() {
    const EngineStats stats = scene_->engine->stats();
    EXPECT_EQ(reader_.count(KvMedium::kGpu), stats.num_cached_blocks);
    EXPECT_EQ(reader_.count(KvMedium::kCpuPinned), stats.tiers.host.num_blocks);
    EXPECT_EQ(reader_.count(KvMedium::kDisk), stats.tiers.disk.num_blocks);
  }

  EngineOptions options_;
  MemFiles files_;
  std::unique_ptr<EngineScene> scene_;
  Reader reader_;
};

TEST_F(TierEventsTest, what_goes_to_memory_and_disk_is_told_with_its_place) {
  start();
  const Tokens prompt = prompt_of(1, 41);
  ask(prompt);
  const Hashes blocks = hashes_of(prompt, 10);
  for (const KvMedium medium : {KvMedium::kGpu, KvMedium::kCpuPinned, KvMedium::kDisk}) {
    EXPECT_EQ(reader_.places[medium], blocks) << to_text(medium);
  }
}

TEST_F(TierEventsTest, what_makes_room_is_told_as_removed_and_a_restored_prefix_as_stored_again) {
  start();
  const Tokens prompt = prompt_of(1, 41);
  const Hashes blocks = hashes_of(prompt, 10);
  ask(prompt);
  flood();
  EXPECT_FALSE(reader_.has_any(KvMedium::kGpu, blocks));
  EXPECT_TRUE(reader_.has_all(KvMedium::kCpuPinned, blocks));
  EXPECT_EQ(ask(prompt), 40);
  EXPECT_TRUE(reader_.has_all(KvMedium::kGpu, blocks));
  expect_reader_knows_all();
}

TEST_F(TierEventsTest, small_tiers_tell_what_leaves_them) {
  options_.tiers.host_bytes = 30 * EngineScene::kBlockBytes;
  options_.tiers.disk_bytes = 100 * (EngineScene::kBlockBytes + 40);
  start();
  ask(prompt_of(1, 41));
  flood();
  EXPECT_FALSE(reader_.has_any(KvMedium::kCpuPinned, hashes_of(prompt_of(1, 41), 10)));
  EXPECT_FALSE(reader_.has_any(KvMedium::kDisk, hashes_of(prompt_of(1, 41), 10)));
  EXPECT_GT(scene_->engine->stats().tiers.host.num_evicted, 0);
  EXPECT_GT(scene_->engine->stats().tiers.disk.num_evicted, 0);
  expect_reader_knows_all();
}

TEST_F(TierEventsTest, what_is_copied_as_it_leaves_the_device_is_never_nowhere) {
  options_.tiers.write_policy = TierWritePolicy::kBack;
  start();
  const Tokens prompt = prompt_of(1, 41);
  ask(prompt);
  EXPECT_EQ(reader_.count(KvMedium::kCpuPinned), 0);
  flood();
  EXPECT_TRUE(reader_.has_all(KvMedium::kCpuPinned, hashes_of(prompt, 10)));
  EXPECT_EQ(reader_.num_lost, 0);
  expect_reader_knows_all();
}

TEST_F(TierEventsTest, a_flush_clears_all_places_and_nothing_of_before_is_told_after_it) {
  start();
  const Tokens prompt = prompt_of(1, 41);
  RecordingSink sink;
  scene_->submit(EngineScene::greedy(prompt, 1), sink);
  while (!sink.has_ended() || scene_->engine->stats().tiers.host.num_blocks == 0) {
    ASSERT_TRUE(scene_->engine->step());
  }
  ASSERT_TRUE(scene_->engine->flush_cache().ok());  // what is to be written still waits
  scene_->run();
  reader_.follow(*scene_->engine->kv_events());
  for (const KvMedium medium : {KvMedium::kGpu, KvMedium::kCpuPinned, KvMedium::kDisk}) {
    EXPECT_EQ(reader_.count(medium), 0) << to_text(medium);
  }
  ask(prompt);
  EXPECT_EQ(reader_.count(KvMedium::kDisk), 10);
  expect_reader_knows_all();
}

TEST_F(TierEventsTest, a_restarted_engine_tells_what_lies_on_its_disk) {
  start();
  const Tokens prompt = prompt_of(1, 41);
  ask(prompt);
  start();
  scene_->engine->step();
  reader_.follow(*scene_->engine->kv_events());
  EXPECT_EQ(reader_.places[KvMedium::kDisk], hashes_of(prompt, 10));
  EXPECT_EQ(reader_.count(KvMedium::kGpu), 0);
  EXPECT_EQ(ask(prompt), 40);
  EXPECT_EQ(reader_.places[KvMedium::kCpuPinned], hashes_of(prompt, 10));
  expect_reader_knows_all();
}

TEST_F(TierEventsTest, a_reader_knows_all_places_whatever_comes_and_goes) {
  std::mt19937 random(5);
  for (const TierWritePolicy policy :
       {TierWritePolicy::kThrough, TierWritePolicy::kSelective, TierWritePolicy::kBack}) {
    options_.tiers.write_policy = policy;
    options_.tiers.host_bytes = 60 * EngineScene::kBlockBytes;
    options_.tiers.disk_bytes = 150 * (EngineScene::kBlockBytes + 40);
    files_.files.clear();
    start();
    for (int i = 0; i < 120; ++i) {
      ask(prompt_of(static_cast<TokenId>(random() % 12),
                    1 + static_cast<std::int64_t>(random() % 150)));
      if (random() % 20 == 0) {
        ASSERT_TRUE(scene_->engine->flush_cache().ok());
        scene_->run();
        reader_.follow(*scene_->engine->kv_events());
      }
      expect_reader_knows_all();
    }
    EXPECT_GT(scene_->engine->stats().tiers.host.num_evicted, 20);
  }
}

}  // namespace
}  // namespace plumb
