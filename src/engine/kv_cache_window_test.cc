// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "engine/kv_cache.h"
#include "tensor/host_allocator.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;
using Prefix = std::pair<std::string, Tokens>;  // namespace and whole blocks

struct Holder {
  std::string ns;
  Tokens tokens;
  SeqBlocks blocks;
};

KvLayout layout_of(std::int64_t block_size, std::int64_t window, bool has_full) {
  KvLayout layout;
  layout.block_size = block_size;
  if (has_full) {
    layout.groups.push_back({.layers = {0}, .num_kv_heads = 1, .head_dim = 2});
  }
  layout.groups.push_back(
      {.layers = {has_full ? 1 : 0}, .num_kv_heads = 1, .head_dim = 2, .window = window});
  return layout;
}

// Every block remembers the prefix that was written there last. What the cache holds follows from
// that, from what is free, and from what sequences own.
class World {
 public:
  explicit World(unsigned seed)
      : random_(seed),
        size_(1 + below(3)),
        window_(1 + below(9)),
        cache_(KvCache::create(
                   layout_of(size_, window_, below(3) != 0),
                   {.num_blocks = kNumBlocks,
                    .num_window_blocks = 20 + below(30),
                    .evict_policy = static_cast<EvictStrategy>(below(kNumEvictStrategies))},
                   host_allocator())
                   .value()),
        full_(static_cast<std::size_t>(kNumBlocks)),
        windowed_(static_cast<std::size_t>(cache_->window_pool().num_blocks())) {}

  void step() {
    switch (below(6)) {
      case 0:
      case 1:
        begin();
        break;
      case 2:
        extend();
        break;
      case 3:
        if (!holders_.empty()) {
          const std::size_t i = pick();
          cache_->release(&holders_[i].blocks);
          std::swap(holders_[i], holders_.back());
          holders_.pop_back();
        }
        break;
      default:
        evict();
        break;
    }
    check();
  }

  std::int64_t num_hits = 0;
  std::int64_t num_cut = 0;
  std::int64_t num_tombstones = 0;
  std::int64_t num_passed = 0;

 private:
  static constexpr std::int64_t kNumBlocks = 60;

  std::int64_t below(std::int64_t limit) { return static_cast<std::int64_t>(random_()) % limit; }

  std::size_t pick() { return static_cast<std::size_t>(below(std::ssize(holders_))); }

  Prefix prefix(const std::string& ns, const Tokens& tokens, std::int64_t num_blocks) const {
    return {ns, {tokens.begin(), tokens.begin() + num_blocks * size_}};
  }

  // Prefixes whose last block the tree has, in one kind of layers.
  std::map<Prefix, BlockId> stored(const BlockPool& pool, const std::vector<Prefix>& tags,
                                   std::vector<BlockRef> SeqBlocks::*owned,
                                   std::vector<BlockRef> WindowBlocks::*window_owned) const {
    std::vector<char> is_elsewhere(tags.size(), 0);
    for (const Holder& holder : holders_) {
      const std::vector<BlockRef>& leases =
          owned != nullptr ? holder.blocks.*owned : holder.blocks.window.*window_owned;
      for (const BlockRef& lease : leases) {
        is_elsewhere[static_cast<std::size_t>(lease.id())] = 1;
      }
    }
    std::map<Prefix, BlockId> found;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const auto id = static_cast<BlockId>(i);
      if (!pool.is_free(id) && is_elsewhere[i] == 0) {
        EXPECT_TRUE(found.emplace(tags[i], id).second) << "a prefix is stored twice";
      }
    }
    return found;
  }

  std::map<Prefix, BlockId> stored() const {
    return stored(cache_->pool(), full_, &SeqBlocks::owned, nullptr);
  }

  std::map<Prefix, BlockId> stored_windows() const {
    return stored(cache_->window_pool(), windowed_, nullptr, &WindowBlocks::owned);
  }

  std::int64_t expected_match(const std::string& ns, const Tokens& tokens) {
    const auto full = stored();
    const auto windowed = stored_windows();
    std::int64_t run = window_;
    std::int64_t usable = 0;
    std::int64_t n = 0;
    for (; (n + 1) * size_ <= std::ssize(tokens) && full.contains(prefix(ns, tokens, n + 1)); ++n) {
      run = windowed.contains(prefix(ns, tokens, n + 1)) ? run + size_ : 0;
      usable = run >= window_ ? n + 1 : usable;
    }
    num_cut += usable < n ? 1 : 0;
    return usable;
  }

  bool grow(Holder& holder, std::int64_t num_tokens) {
    for (std::int64_t i = 0; i < num_tokens; ++i) {
      const std::int64_t num_blocks = num_blocks_for(std::ssize(holder.tokens) + 1, size_);
      if (num_blocks > std::ssize(holder.blocks.table)) {
        if (!cache_->num_available().holds({1, 1})) {
          return false;
        }
        cache_->make_free({1, 1});
        cache_->grow(num_blocks * size_, &holder.blocks);
      }
      holder.tokens.push_back(static_cast<TokenId>(below(2)));
      const auto last = static_cast<std::size_t>(num_blocks - 1);
      if (std::ssize(holder.tokens) % size_ == 0) {
        const Prefix written = prefix(holder.ns, holder.tokens, num_blocks);
        full_[static_cast<std::size_t>(holder.blocks.table[last])] = written;
        windowed_[static_cast<std::size_t>(holder.blocks.window.table[last])] = written;
      }
      if (below(4) == 0) {
        num_passed += cache_->pass_window(std::ssize(holder.tokens), &holder.blocks);
      }
    }
    return true;
  }

  void begin() {
    Holder holder;
    holder.ns = below(3) == 0 ? "x" : "";
    Tokens wish;
    for (std::int64_t n = below(24); n > 0; --n) {
      wish.push_back(static_cast<TokenId>(below(2)));
    }
    const std::int64_t expected = expected_match(holder.ns, wish);
    const PrefixPeek peek = cache_->peek(holder.ns, wish);
    const BlockCount before = cache_->num_evictable();
    ASSERT_EQ(peek.num_tokens, expected * size_);
    ASSERT_EQ(cache_->attach(holder.ns, wish, true, &holder.blocks), expected * size_);
    ASSERT_EQ(before - cache_->num_evictable(), peek.num_evictable);
    holder.tokens = prefix(holder.ns, wish, expected).second;
    num_hits += expected > 0 ? 1 : 0;
    holders_.push_back(std::move(holder));
    grow(holders_.back(), below(12));
    store(holders_.back());
  }

  void extend() {
    if (!holders_.empty()) {
      Holder& holder = holders_[pick()];
      grow(holder, below(10));
      store(holder);
    }
  }

  void store(Holder& holder) {
    cache_->store(holder.ns, holder.tokens, {.priority = below(3), .first_to_evict = below(4) == 0},
                  &holder.blocks);
    num_passed += cache_->pass_window(std::ssize(holder.tokens), &holder.blocks);
  }

  void evict() {
    const BlockCount free = cache_->num_free();
    const BlockCount possible = cache_->num_evictable();
    const BlockCount wanted{std::min(below(4), possible.full), std::min(below(6), possible.window)};
    ASSERT_TRUE(cache_->make_free(free + wanted).holds(wanted));
    ASSERT_TRUE(cache_->num_free().holds(free + wanted));
    num_tombstones =
        std::max(num_tombstones, cache_->tree().num_blocks() - cache_->tree().num_window_blocks());
  }

  // Each sequence has what it computed, and of windows what it will still see.
  void check() {
    std::vector<const SeqBlocks*> all;
    for (const Holder& holder : holders_) {
      all.push_back(&holder.blocks);
      const std::int64_t len = std::ssize(holder.tokens);
      ASSERT_LE(holder.blocks.window.begin, first_window_block(len, window_, size_));
      for (std::int64_t i = 0; i < len / size_; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const Prefix expected = prefix(holder.ns, holder.tokens, i + 1);
        const BlockId block = holder.blocks.table[at];
        ASSERT_FALSE(cache_->pool().is_free(block));
        ASSERT_EQ(full_[static_cast<std::size_t>(block)], expected);
        if (i >= holder.blocks.window.begin) {
          const BlockId part = holder.blocks.window.table[at];
          ASSERT_FALSE(cache_->window_pool().is_free(part));
          ASSERT_EQ(windowed_[static_cast<std::size_t>(part)], expected);
        }
      }
    }
    ASSERT_EQ(cache_->check_invariants(all).message(), "");
    ASSERT_EQ(std::ssize(stored()), cache_->tree().num_blocks());
  }

  std::mt19937 random_;
  std::int64_t size_;
  std::int64_t window_;
  std::unique_ptr<KvCache> cache_;
  std::vector<Prefix> full_;      // by BlockId
  std::vector<Prefix> windowed_;  // by BlockId of the window pool
  std::vector<Holder> holders_;
};

TEST(KvCacheWindowProperty, random_sequences_find_what_the_blocks_say_and_nothing_else) {
  std::int64_t num_hits = 0;
  std::int64_t num_cut = 0;
  std::int64_t num_tombstones = 0;
  std::int64_t num_passed = 0;
  for (unsigned seed = 0; seed < 200 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int i = 0; i < 200 && !testing::Test::HasFatalFailure(); ++i) {
      world.step();
    }
    num_hits += world.num_hits;
    num_cut += world.num_cut;
    num_tombstones += world.num_tombstones;
    num_passed += world.num_passed;
  }
  EXPECT_GT(num_hits, 5000);
  EXPECT_GT(num_cut, 300);
  EXPECT_GT(num_tombstones, 500);
  EXPECT_GT(num_passed, 3000);
}

TEST(KvCacheWindow, a_sequence_keeps_blocks_for_its_window_only) {
  const auto cache = KvCache::create(layout_of(4, 8, true),
                                     {.num_blocks = 100, .num_window_blocks = 8}, host_allocator())
                         .value();
  SeqBlocks blocks;
  for (std::int64_t n = 1; n <= 400; ++n) {
    cache->grow(n, &blocks);
    cache->pass_window(n, &blocks);
    ASSERT_LE(blocks.window.num_held(), 3);
  }
  EXPECT_EQ(cache->num_free(), (BlockCount{0, 6}));
  EXPECT_EQ(blocks.window.begin, 98);
  cache->release(&blocks);
  EXPECT_EQ(cache->num_free(), (BlockCount{100, 8}));
}

// Gemma 3 270M: 3 of 18 layers see everything, the others 512 tokens.
TEST(KvCacheWindow, what_is_stored_can_be_used_to_its_last_whole_block_whatever_the_window) {
  for (std::int64_t window = 1; window <= 13; ++window) {
    const auto cache =
        KvCache::create(layout_of(4, window, true), {.num_blocks = 20, .num_window_blocks = 20},
                        host_allocator())
            .value();
    for (std::int64_t length = 1; length <= 40; ++length) {
      Tokens tokens(static_cast<std::size_t>(length));
      for (std::int64_t i = 0; i < length; ++i) {
        tokens[static_cast<std::size_t>(i)] = static_cast<TokenId>(100 * length + i);
      }
      cache->make_free({num_blocks_for(length, 4), num_blocks_for(length, 4)});
      SeqBlocks blocks;
      for (std::int64_t num_computed = 1; num_computed <= length; ++num_computed) {
        cache->grow(num_computed, &blocks);
        cache->pass_window(num_computed, &blocks);
      }
      cache->store("", tokens, {}, &blocks);
      cache->release(&blocks);
      EXPECT_EQ(cache->peek("", tokens).num_tokens, length / 4 * 4)
          << "window " << window << ", length " << length;
    }
  }
}

TEST(KvCacheWindow, a_sequence_of_8192_tokens_takes_less_than_a_quarter_of_what_all_layers_would) {
  KvLayout layout;
  layout.block_size = 32;
  KvGroup group{.num_kv_heads = 1, .head_dim = 256};
  for (int layer = 5; layer < 18; layer += 6) {
    group.layers.push_back(layer);
  }
  layout.groups.push_back(group);
  group.window = 512;
  group.layers.clear();
  for (int layer = 0; layer < 18; ++layer) {
    if (layer % 6 != 5) {
      group.layers.push_back(layer);
    }
  }
  layout.groups.push_back(group);
  const auto cache =
      KvCache::create(layout, {.num_blocks = 256, .num_window_blocks = 18}, host_allocator())
          .value();
  SeqBlocks blocks;
  for (std::int64_t n = 32; n <= 8192; n += 32) {
    cache->grow(n, &blocks);
    cache->pass_window(n, &blocks);
  }
  constexpr std::int64_t kMebibyte = 1 << 20;
  EXPECT_EQ(8192 * layout.bytes_per_token(), 144 * kMebibyte);
  EXPECT_EQ(cache->pool().num_leased() * layout.bytes_per_block(false), 24 * kMebibyte);
  EXPECT_EQ(cache->window_pool().num_leased() * layout.bytes_per_block(true), 15 * kMebibyte / 2);
  cache->release(&blocks);
}

}  // namespace
}  // namespace plumb
