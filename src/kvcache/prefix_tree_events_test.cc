// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "kvcache/prefix_tree.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;
using Kind = KvEvent::Kind;

struct EventCache {
  explicit EventCache(std::int64_t block_size, std::int64_t num_blocks = 100)
      : size(block_size), pool(num_blocks), tree(block_size, EvictStrategy::kLru, &recorder) {}

  void store(const Tokens& tokens, std::string_view ns = "") {
    std::vector<BlockId> blocks;
    std::vector<BlockRef> owned;
    for (std::int64_t i = 0; i < num_blocks_for(std::ssize(tokens), size); ++i) {
      owned.push_back(pool.take().value());
      blocks.push_back(owned.back().id());
    }
    tree.insert(ns, tokens, &blocks, &owned, {});
  }

  std::int64_t size;
  KvEventRecorder recorder{size};
  BlockPool pool;
  PrefixTree tree;
};

// The hashes of the full blocks of a prompt, computed from the definition.
std::vector<BlockHash> hashes_of(const Tokens& tokens, std::int64_t size, std::string_view ns) {
  std::vector<BlockHash> out;
  std::string before(ns);
  for (std::int64_t i = 0; (i + 1) * size <= std::ssize(tokens); ++i) {
    std::string bytes = before;
    for (std::int64_t k = i * size; k < (i + 1) * size; ++k) {
      const auto token = static_cast<std::uint32_t>(tokens[static_cast<std::size_t>(k)]);
      for (int shift = 0; shift < 32; shift += 8) {
        bytes.push_back(static_cast<char>(token >> shift & 0xFF));
      }
    }
    const Digest256 digest = sha256(bytes);
    before.assign(reinterpret_cast<const char*>(digest.data()), digest.size());
    out.emplace_back();
    std::copy_n(digest.begin(), 16, out.back().begin());
  }
  return out;
}

TEST(PrefixTreeEvents, storing_tells_hashes_parent_and_tokens) {
  EventCache cache(4);
  cache.store({1, 2, 3, 4, 5, 6, 7, 8, 9});
  std::vector<KvEvent> events = cache.recorder.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::kStored);
  EXPECT_EQ(events[0].medium, KvMedium::kGpu);
  EXPECT_FALSE(events[0].parent.has_value());
  EXPECT_EQ(events[0].tokens, (Tokens{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(events[0].block_size, 4);
  ASSERT_EQ(events[0].blocks.size(), 2U);
  EXPECT_EQ(to_hex(events[0].blocks[0]), "cf97adeedb59e05bfd73a2b4c2a88857");
  EXPECT_EQ(to_hex(events[0].blocks[1]), "4ebfa8a1f3c341517621838c6e1b9aa3");

  // A longer prompt names the block that it goes on from; what is there already is not told again.
  cache.store({1, 2, 3, 4, 20, 21, 22, 23});
  events = cache.recorder.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(to_hex(events[0].parent.value()), "cf97adeedb59e05bfd73a2b4c2a88857");
  EXPECT_EQ(events[0].tokens, (Tokens{20, 21, 22, 23}));
  EXPECT_EQ(events[0].blocks, (std::vector{hashes_of({1, 2, 3, 4, 20, 21, 22, 23}, 4, "").back()}));
  cache.store({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(cache.recorder.take().empty());
  EXPECT_EQ(cache.tree.check_invariants(0).message(), "");
}

TEST(PrefixTreeEvents, namespaces_have_hashes_of_their_own) {
  EventCache cache(4);
  cache.store({1, 2, 3, 4}, "a");
  cache.store({1, 2, 3, 4}, "b");
  const std::vector<KvEvent> events = cache.recorder.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].blocks, hashes_of({1, 2, 3, 4}, 4, "a"));
  EXPECT_EQ(events[1].blocks, hashes_of({1, 2, 3, 4}, 4, "b"));
  EXPECT_NE(events[0].blocks, events[1].blocks);
}

TEST(PrefixTreeEvents, eviction_tells_the_blocks_and_clearing_tells_it_once) {
  EventCache cache(1);
  cache.store({1, 2, 3});
  cache.store({7});
  cache.recorder.take();
  EXPECT_EQ(cache.tree.evict(2), 2);
  std::vector<KvEvent> events = cache.recorder.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::kRemoved);
  const std::vector<BlockHash> hashes = hashes_of({1, 2, 3}, 1, "");
  EXPECT_EQ(events[0].blocks, (std::vector{hashes[1], hashes[2]}));
  cache.tree.clear();
  EXPECT_EQ(cache.tree.num_blocks(), 0);
  EXPECT_EQ(cache.pool.num_leased(), 0);
  events = cache.recorder.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::kCleared);
}

TEST(PrefixTreeEvents, without_a_recorder_nothing_is_hashed) {
  BlockPool pool(10);
  PrefixTree tree(1, EvictStrategy::kLru);
  std::vector<BlockRef> owned;
  owned.push_back(pool.take().value());
  std::vector<BlockId> blocks{owned[0].id()};
  tree.insert("", Tokens{1}, &blocks, &owned, {});
  EXPECT_EQ(tree.num_blocks(), 1);
  tree.clear();
  EXPECT_EQ(pool.num_leased(), 0);
}

// A reader that follows the events knows what is cached, whatever was split and evicted meanwhile.
TEST(PrefixTreeEvents, a_reader_of_the_events_knows_what_is_cached) {
  std::mt19937 random(3);
  EventCache cache(2, 60);
  std::map<BlockHash, Tokens> known;  // hash -> all tokens up to it
  std::vector<Tokens> prompts;
  std::int64_t num_removed = 0;
  for (int i = 0; i < 400; ++i) {
    Tokens prompt;
    for (std::size_t n = 1 + random() % 12; n > 0; --n) {
      prompt.push_back(static_cast<TokenId>(random() % 2));
    }
    if (cache.pool.num_free() < 8) {
      cache.tree.evict(1 + static_cast<std::int64_t>(random() % 12));
    }
    cache.store(prompt);
    prompts.push_back(prompt);
    for (const KvEvent& event : cache.recorder.take()) {
      if (event.kind == Kind::kRemoved) {
        for (const BlockHash& hash : event.blocks) {
          ASSERT_EQ(known.erase(hash), 1U);
          ++num_removed;
        }
        continue;
      }
      Tokens tokens = event.parent ? known.at(*event.parent) : Tokens();
      for (std::size_t b = 0; b < event.blocks.size(); ++b) {
        tokens.insert(tokens.end(), event.tokens.begin() + static_cast<std::ptrdiff_t>(2 * b),
                      event.tokens.begin() + static_cast<std::ptrdiff_t>(2 * b + 2));
        ASSERT_TRUE(known.emplace(event.blocks[b], tokens).second);
        ASSERT_EQ(event.blocks[b], hashes_of(tokens, 2, "").back());
      }
    }
    ASSERT_EQ(std::ssize(known), cache.tree.num_blocks());
    for (const Tokens& p : prompts) {
      const std::vector<BlockHash> hashes = hashes_of(p, 2, "");
      std::size_t found = 0;
      while (found < hashes.size() && known.contains(hashes[found])) {
        ++found;
      }
      ASSERT_EQ(static_cast<std::int64_t>(found) * 2, cache.tree.peek("", p).num_tokens);
    }
  }
  EXPECT_GT(num_removed, 200);
}

}  // namespace
}  // namespace plumb
