// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_test_scene.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;

ScriptedModel::Options windowed(std::int64_t window, bool is_all_windowed = false) {
  ScriptedModel::Options options;
  options.window = window;
  options.is_all_windowed = is_all_windowed;
  return options;
}

Tokens prompt_of(TokenId seed, std::int64_t count) {
  Tokens tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>((seed * 17 + i * (seed + 3)) % 50));
  }
  return tokens;
}

// What a model says all of whose layers have a window.
Tokens windowed_truth(Tokens context, std::int64_t max_tokens, std::int64_t window) {
  Tokens out;
  for (std::int64_t i = 0; i < max_tokens; ++i) {
    out.push_back(EngineScene::truth(ScriptedModel::seen(context, window), 1).front());
    context.push_back(out.back());
  }
  return out;
}

struct Four {
  EngineStats stats;
  std::int64_t most_running = 0;
};

// Four sequences of 40 prompt and 100 answer tokens, which take 140 blocks, in the memory of 98.
Four run_four(const ScriptedModel::Options& model) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 98 * EngineScene::kBlockBytes;
  EngineScene scene(options, model);
  std::vector<RecordingSink> sinks(4);
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    scene.submit(EngineScene::greedy(prompt_of(static_cast<TokenId>(i), 40), 100), sinks[i]);
  }
  Four result;
  while (scene.engine->step()) {
    EXPECT_EQ(scene.engine->check_invariants().message(), "");
    result.most_running = std::max(result.most_running, scene.engine->stats().num_running);
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    EXPECT_EQ(sinks[i].tokens, EngineScene::truth(prompt_of(static_cast<TokenId>(i), 40), 100));
  }
  scene.expect_idle_and_whole();
  result.stats = scene.engine->stats();
  return result;
}

TEST(EngineWindow, long_sequences_run_together_in_memory_that_could_not_hold_them_without) {
  const Four plain = run_four({});
  EXPECT_LT(plain.most_running, 4);
  EXPECT_EQ(plain.stats.num_window_blocks, 0);
  EXPECT_EQ(plain.stats.num_passed_window_blocks, 0);
  const Four windows = run_four(windowed(8));
  EXPECT_EQ(windows.most_running, 4);
  EXPECT_EQ(windows.stats.num_preemptions, 0);
  EXPECT_GE(windows.stats.num_blocks, 140);
  EXPECT_EQ((windows.stats.num_blocks + windows.stats.num_window_blocks) * 64, 98 * 128);
  // Of the 25 blocks that an answer takes, all but the last few were given back as it went on.
  EXPECT_GT(windows.stats.num_passed_window_blocks, 4 * 20);
}

TEST(EngineWindow, a_model_of_windowed_layers_alone_is_bound_by_its_windows) {
  EngineOptions options = EngineScene::small_options();
  options.kv_cache_bytes = 20 * EngineScene::kBlockBytes;  // 80 tokens
  EngineScene scene(options, windowed(8, true));
  EXPECT_EQ(scene.engine->stats().num_window_blocks, 20);
  EXPECT_GE(scene.engine->limits().kv_tokens, 150);
  RecordingSink sink;
  const Tokens prompt = prompt_of(1, 90);
  scene.submit(EngineScene::greedy(prompt, 60), sink);
  scene.run();
  EXPECT_EQ(sink.tokens, windowed_truth(prompt, 60, 8));
  scene.expect_idle_and_whole();
}

TEST(EngineWindow, a_prefix_is_used_as_far_as_its_window_is_cached) {
  EngineOptions options = EngineScene::small_options();
  options.max_num_seqs = 1;
  options.kv_cache_bytes = 80 * EngineScene::kBlockBytes;
  EngineScene scene(options, windowed(8));
  const auto ask = [&](const Tokens& prompt, std::int64_t max_tokens) {
    RecordingSink sink;
    scene.submit(EngineScene::greedy(prompt, max_tokens), sink);
    scene.run();
    EXPECT_EQ(sink.tokens, EngineScene::truth(prompt, max_tokens));
    scene.expect_idle_and_whole();
    return sink;
  };
  const Tokens prompt = prompt_of(1, 40);
  Tokens conversation = prompt;
  const RecordingSink first = ask(prompt, 80);
  conversation.insert(conversation.end(), first.tokens.begin(), first.tokens.end());
  // The answer's beginning is behind the window that its end was stored with.
  EXPECT_EQ(
      ask(Tokens(conversation.begin(), conversation.begin() + 80), 1).last.usage.cached_tokens, 40);
  EXPECT_EQ(scene.engine->stats().num_cut_prefixes, 1);
  conversation.push_back(7);
  EXPECT_EQ(ask(conversation, 1).last.usage.cached_tokens, 116);  // to its end all is there
  EXPECT_EQ(scene.engine->stats().num_cut_prefixes, 1);
}

TEST(EngineWindow, a_step_never_takes_more_window_blocks_than_there_are) {
  for (const std::int64_t num_pairs : {6, 7, 9, 13, 30}) {
    EngineOptions options = EngineScene::small_options();
    options.min_context = 8;
    options.kv_cache_bytes = num_pairs * EngineScene::kBlockBytes;
    EngineScene scene(options, windowed(8, true));
    std::vector<RecordingSink> sinks(6);
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      scene.submit(EngineScene::greedy(prompt_of(static_cast<TokenId>(i), 5), 15), sinks[i]);
    }
    scene.run();
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      EXPECT_EQ(sinks[i].tokens, windowed_truth(prompt_of(static_cast<TokenId>(i), 5), 15, 8));
    }
    scene.expect_idle_and_whole();
  }
}

}  // namespace
}  // namespace plumb
