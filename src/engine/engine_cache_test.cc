// SPDX-License-Identifier: Apache-2.0
// What the engine makes of its prefix cache: partial blocks, flushing, events.
#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Blocks of the scripted model have four tokens.
struct Answer {
  std::int64_t cached_tokens = 0;
  std::int64_t prefill_tokens = 0;
};

// Has a prompt answered and checks the answer against the model alone.
Answer ask(EngineScene& scene, const Tokens& prompt, const std::string& ns = "") {
  const std::int64_t before = scene.engine->stats().prefill_tokens;
  RecordingSink sink;
  Request request = EngineScene::greedy(prompt, 1);
  request.cache_namespace = ns;
  scene.submit(std::move(request), sink);
  scene.run();
  EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, 1));
  scene.expect_idle_and_whole();
  return {sink.last.usage.cached_tokens, scene.engine->stats().prefill_tokens - before};
}

TEST(EngineTail, a_prompt_that_leaves_within_a_block_copies_its_beginning) {
  EngineScene scene;
  ask(scene, counting(1, 12));
  const Answer answer = ask(scene, joined(counting(1, 10), {40, 41, 42}));
  EXPECT_EQ(answer.cached_tokens, 10);  // two blocks and two tokens of the third
  EXPECT_EQ(answer.prefill_tokens, 3);
  EXPECT_EQ(scene.engine->stats().num_tail_copies, 1);
}

TEST(EngineTail, a_prompt_shorter_than_a_block_finds_its_beginning_too) {
  EngineScene scene;
  ask(scene, counting(1, 4));
  const Answer answer = ask(scene, counting(1, 3));
  EXPECT_EQ(answer.cached_tokens, 2);  // the last token is always computed
  EXPECT_EQ(answer.prefill_tokens, 1);
  EXPECT_EQ(scene.engine->stats().num_prefix_hits, 1);
}

TEST(EngineTail, namespaces_share_no_partial_blocks) {
  EngineScene scene;
  ask(scene, counting(1, 12), "a");
  EXPECT_EQ(ask(scene, counting(1, 10), "b").cached_tokens, 0);
  EXPECT_EQ(ask(scene, counting(1, 10), "a").cached_tokens, 9);
}

TEST(EngineTail, running_sequences_of_another_namespace_lend_nothing) {
  EngineScene scene;
  RecordingSink first;
  Request request = EngineScene::greedy(counting(1, 3), 30);
  request.cache_namespace = "a";
  scene.submit(request, first);
  scene.engine->step();
  RecordingSink other;
  request.cache_namespace = "b";
  scene.submit(request, other);
  RecordingSink same;
  request.cache_namespace = "a";
  scene.submit(request, same);
  scene.run();
  EXPECT_EQ(other.last.usage.cached_tokens, 0);
  EXPECT_EQ(same.last.usage.cached_tokens, 2);  // from the first one's unfinished block
  for (const RecordingSink* sink : {&first, &other, &same}) {
    EXPECT_EQ(sink->tokens, EngineScene::truth(counting(1, 3), 30));
  }
}

TEST(EngineTail, is_off_together_with_the_prefix_cache) {
  EngineOptions options = EngineScene::small_options();
  options.prefix_cache = false;
  EngineScene scene(options);
  ask(scene, counting(1, 12));
  EXPECT_EQ(ask(scene, counting(1, 10)).cached_tokens, 0);
}

TEST(EngineFlush, a_stopped_engine_is_not_flushed) {
  EngineScene scene(EngineScene::small_options());
  EXPECT_TRUE(scene.engine->flush_cache().ok());
  scene.engine->stop();
  const Status status = scene.engine->flush_cache();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "the engine is stopped");
}

TEST(EngineFlush, forgets_everything_while_idle_and_nothing_otherwise) {
  EngineScene scene;
  ask(scene, counting(1, 12));
  RecordingSink running;
  scene.submit(EngineScene::greedy(counting(1, 12), 5), running);
  EXPECT_EQ(scene.engine->flush_cache().code(), Code::kUnavailable);  // it waits
  scene.engine->step();
  EXPECT_EQ(scene.engine->flush_cache().code(), Code::kUnavailable);  // it runs
  scene.run();
  EXPECT_EQ(running.last.usage.cached_tokens, 11);
  EXPECT_TRUE(scene.engine->flush_cache().ok());
  const EngineStats stats = scene.engine->stats();
  EXPECT_EQ(stats.num_cached_blocks, 0);
  EXPECT_EQ(stats.num_free_blocks, stats.num_blocks);
  EXPECT_EQ(ask(scene, counting(1, 12)).cached_tokens, 0);
}

TEST(EngineEvents, tell_what_is_stored_evicted_and_flushed) {
  EngineOptions options = EngineScene::small_options();
  options.kv_events = true;
  options.kv_cache_bytes = 8 * EngineScene::kBlockBytes;
  EngineScene scene(options);
  const KvEventLog& log = *scene.engine->kv_events();
  const std::uint64_t first = log.next_seq();
  ask(scene, counting(1, 17));
  KvEventPage page = log.read(first, 1 << 20);
  std::int64_t num_stored = 0;
  std::optional<BlockHash> last;
  for (const KvEventBatch& batch : page.batches) {
    for (const KvEvent& event : batch.events) {
      ASSERT_EQ(event.kind, KvEvent::Kind::kStored);
      EXPECT_EQ(event.parent, last);  // chunk by chunk
      EXPECT_EQ(event.block_size, 4);
      last = event.blocks.back();
      num_stored += std::ssize(event.blocks);
    }
  }
  EXPECT_EQ(num_stored, 4);
  ask(scene, counting(20, 25));  // needs what the first one left
  std::int64_t num_removed = 0;
  for (const KvEventBatch& batch : log.read(page.next_seq, 1 << 20).batches) {
    for (const KvEvent& event : batch.events) {
      num_removed += event.kind == KvEvent::Kind::kRemoved ? std::ssize(event.blocks) : 0;
    }
  }
  EXPECT_EQ(num_removed, scene.engine->stats().num_evicted_blocks);
  EXPECT_GT(num_removed, 0);
  const std::uint64_t before_flush = log.next_seq();
  EXPECT_TRUE(scene.engine->flush_cache().ok());
  page = log.read(before_flush, 1 << 20);
  ASSERT_EQ(page.batches.size(), 1U);
  ASSERT_EQ(page.batches[0].events.size(), 1U);
  EXPECT_EQ(page.batches[0].events[0].kind, KvEvent::Kind::kCleared);
}

TEST(EngineEvents, are_not_kept_unless_asked_for) {
  EngineScene scene;
  EXPECT_EQ(scene.engine->kv_events(), nullptr);
}

}  // namespace
}  // namespace plumb
