// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "kvcache/prefix_tree.h"

namespace plumb {
namespace {

using Tokens = std::vector<TokenId>;
using Prefix = std::pair<std::string, Tokens>;  // namespace and whole blocks

// A sequence as the engine keeps it.
struct Holder {
  std::string ns;
  Tokens tokens;
  std::vector<BlockId> blocks;
  std::vector<BlockRef> owned;
  PrefixLock lock;
};

// The cache as a plain map from each stored prefix to its last block.
class Model {
 public:
  Model(unsigned seed, std::int64_t block_size, EvictStrategy strategy)
      : random_(seed), size_(block_size), pool_(60), tree_(block_size, strategy) {}

  void step() {
    switch (random_() % 5) {
      case 0:
      case 1:
        begin();
        break;
      case 2:
        extend();
        break;
      case 3:
        end();
        break;
      default:
        evict(static_cast<std::int64_t>(random_() % 6));
        break;
    }
    check();
  }

  std::int64_t num_hits = 0;
  std::int64_t num_evicted = 0;

 private:
  Tokens block_prefix(const Tokens& tokens, std::int64_t num_blocks) const {
    return {tokens.begin(), tokens.begin() + num_blocks * size_};
  }

  std::int64_t expected_match(const std::string& ns, const Tokens& tokens) const {
    std::int64_t n = 0;
    while ((n + 1) * size_ <= std::ssize(tokens) &&
           stored_.contains({ns, block_prefix(tokens, n + 1)})) {
      ++n;
    }
    return n;
  }

  // Appends tokens with blocks for them, evicting when the pool is empty; false if all are held.
  bool grow(Holder& holder, std::int64_t num_tokens) {
    for (std::int64_t i = 0; i < num_tokens; ++i) {
      const std::int64_t needed = num_blocks_for(std::ssize(holder.tokens) + 1, size_);
      if (needed > std::ssize(holder.blocks)) {
        if (pool_.num_free() == 0) {
          evict(1);
        }
        Result<BlockRef> block = pool_.take();
        if (!block.ok()) {
          return false;
        }
        holder.blocks.push_back(block.value().id());
        holder.owned.push_back(std::move(block).value());
      }
      holder.tokens.push_back(static_cast<TokenId>(random_() % 2));
    }
    return true;
  }

  void begin() {
    Holder holder;
    holder.ns = random_() % 3 == 0 ? "x" : "";
    Tokens wish;
    for (std::size_t n = random_() % 14; n > 0; --n) {
      wish.push_back(static_cast<TokenId>(random_() % 2));
    }
    const std::int64_t expected = expected_match(holder.ns, wish);
    ASSERT_EQ(tree_.peek(holder.ns, wish).num_tokens, expected * size_);
    holder.lock = tree_.match(holder.ns, wish, &holder.blocks);
    ASSERT_EQ(std::ssize(holder.blocks), expected);
    holder.tokens = block_prefix(wish, expected);
    for (std::int64_t i = 0; i < expected; ++i) {
      ASSERT_EQ(holder.blocks[static_cast<std::size_t>(i)],
                stored_.at({holder.ns, block_prefix(wish, i + 1)}));
    }
    num_hits += expected > 0 ? 1 : 0;
    grow(holder, static_cast<std::int64_t>(random_() % 8));
    store(holder);
    holders_.push_back(std::move(holder));
  }

  void extend() {
    if (!holders_.empty()) {
      Holder& holder = holders_[random_() % holders_.size()];
      grow(holder, static_cast<std::int64_t>(random_() % 6));
      store(holder);
    }
  }

  void store(Holder& holder) {
    PrefixLock lock = tree_.insert(holder.ns, holder.tokens, &holder.blocks, &holder.owned,
                                   {.priority = static_cast<std::int64_t>(random_() % 3),
                                    .first_to_evict = random_() % 4 == 0});
    holder.lock = std::move(lock);
    for (std::int64_t i = 0; i < std::ssize(holder.tokens) / size_; ++i) {
      const BlockId block = holder.blocks[static_cast<std::size_t>(i)];
      const auto [at, is_new] =
          stored_.emplace(Prefix(holder.ns, block_prefix(holder.tokens, i + 1)), block);
      ASSERT_TRUE(is_new || at->second == block);
    }
  }

  void end() {
    if (!holders_.empty()) {
      std::swap(holders_[random_() % holders_.size()], holders_.back());
      holders_.pop_back();
    }
  }

  void evict(std::int64_t wanted) {
    const std::int64_t possible = tree_.num_evictable_blocks();
    const std::int64_t freed = tree_.evict(wanted);
    ASSERT_EQ(freed, std::min(wanted, possible));
    num_evicted += freed;
    std::int64_t gone = 0;
    for (auto at = stored_.begin(); at != stored_.end();) {
      const auto& [ns, tokens] = at->first;
      if (tree_.peek(ns, tokens).num_tokens < std::ssize(tokens)) {
        at = stored_.erase(at);
        ++gone;
      } else {
        ++at;
      }
    }
    ASSERT_EQ(gone, freed);
  }

  void check() {
    std::int64_t num_locks = 0;
    std::int64_t num_owned = 0;
    std::map<Prefix, int> held;
    for (const Holder& holder : holders_) {
      num_locks += holder.lock.empty() ? 0 : 1;
      num_owned += std::ssize(holder.owned);
      for (std::int64_t i = 0; i < std::ssize(holder.tokens) / size_; ++i) {
        const Prefix prefix(holder.ns, block_prefix(holder.tokens, i + 1));
        ASSERT_TRUE(stored_.contains(prefix)) << "a held prefix was evicted";
        held[prefix] = 1;
      }
    }
    ASSERT_EQ(tree_.check_invariants(num_locks).message(), "");
    ASSERT_EQ(pool_.check_invariants().message(), "");
    ASSERT_EQ(tree_.num_blocks(), std::ssize(stored_));
    ASSERT_EQ(tree_.num_protected_blocks(), std::ssize(held));
    ASSERT_EQ(pool_.num_free() + tree_.num_blocks() + num_owned, pool_.num_blocks());
  }

  std::mt19937 random_;
  std::int64_t size_;
  BlockPool pool_;
  PrefixTree tree_;
  std::map<Prefix, BlockId> stored_;
  std::vector<Holder> holders_;
};

TEST(PrefixTreeProperty, random_operations_agree_with_a_plain_map_of_prefixes) {
  std::int64_t num_hits = 0;
  std::int64_t num_evicted = 0;
  for (unsigned seed = 0; seed < 28; ++seed) {
    Model model(seed, 1 + seed % 3, static_cast<EvictStrategy>(seed % kNumEvictStrategies));
    for (int i = 0; i < 250 && !testing::Test::HasFatalFailure(); ++i) {
      model.step();
    }
    num_hits += model.num_hits;
    num_evicted += model.num_evicted;
  }
  EXPECT_GT(num_hits, 500);
  EXPECT_GT(num_evicted, 500);
}

}  // namespace
}  // namespace plumb
