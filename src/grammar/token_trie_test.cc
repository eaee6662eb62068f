// SPDX-License-Identifier: Apache-2.0
#include "grammar/token_trie.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "base/rng.h"
#include "grammar/generation_cache.h"

namespace plumb {
namespace {

TEST(TokenTrie, lists_every_prefix_once_in_depth_first_order) {
  const std::vector<std::string> tokens = {"ab", "", "a", "b", "ab", "abc", "xyz"};
  const TokenTrie trie(tokens);
  ASSERT_EQ(trie.nodes().size(), 7U);  // a ab abc b x xy xyz
  EXPECT_EQ(trie.num_entries(), 5);
  EXPECT_EQ(trie.max_depth(), 3U);
  EXPECT_EQ(trie.path(1), "ab");
  EXPECT_TRUE(trie.is_token(1));
  EXPECT_EQ(trie.tokens(trie.nodes()[1].first_entry).size(), 2U);
  EXPECT_EQ(trie.tokens(trie.nodes()[1].first_entry)[1], 4);
  EXPECT_FALSE(trie.is_token(5));
  EXPECT_EQ(trie.path(5), "xy");
  EXPECT_EQ(trie.nodes()[0].end, 3U);
  EXPECT_EQ(trie.nodes()[4].end, 7U);
  EXPECT_EQ(trie.find("ab"), 1U);
  EXPECT_EQ(trie.find("xy"), 5U);
  EXPECT_EQ(trie.find("c"), std::nullopt);
  EXPECT_EQ(trie.find("abcd"), std::nullopt);
}

TEST(TokenTrie, paths_of_random_tokens_are_their_bytes) {
  Rng rng(7);
  std::vector<std::string> tokens;
  std::map<std::string, std::set<TokenId>> expected;
  for (TokenId t = 0; t < 2000; ++t) {
    std::string token;
    for (std::int64_t n = 1 + rng.below(7); n > 0; --n) {
      token.push_back(static_cast<char>(rng.below(2) == 0 ? rng.below(256) : rng.below(4)));
    }
    tokens.push_back(token);
    expected[token].insert(t);
  }
  const TokenTrie trie(tokens);
  std::map<std::string, std::set<TokenId>> found;
  for (std::uint32_t n = 0; n < trie.nodes().size(); ++n) {
    const std::string path(trie.path(n));
    EXPECT_EQ(static_cast<unsigned char>(path.back()), trie.nodes()[n].byte);
    EXPECT_EQ(trie.find(path), n);
    if (trie.is_token(n)) {
      const auto ids = trie.tokens(trie.nodes()[n].first_entry);
      found[path] = {ids.begin(), ids.end()};
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(TokenTrie, may_be_empty) {
  const TokenTrie trie(std::vector<std::string>{"", ""});
  EXPECT_TRUE(trie.nodes().empty());
  EXPECT_EQ(trie.find("a"), std::nullopt);
}

TEST(GenerationCache, keeps_what_is_used_and_stays_within_its_bytes) {
  GenerationCache<int, int, std::hash<int>> cache(100);
  for (int i = 0; i < 1000; ++i) {
    cache.insert(i, std::make_shared<int>(i), 10);
    EXPECT_LE(cache.num_bytes(), 100);
    ASSERT_NE(cache.find(0), nullptr);
    EXPECT_EQ(*cache.find(0), 0);
  }
  EXPECT_EQ(cache.find(500), nullptr);
  cache.insert(-1, std::make_shared<int>(-1), 51);
  EXPECT_EQ(cache.find(-1), nullptr);
}

TEST(GenerationCache, counts_an_entry_that_becomes_young_again_once) {
  GenerationCache<int, int, std::hash<int>> cache(100);
  for (int i = 0; i < 6; ++i) {  // the sixth makes the first five old
    cache.insert(i, std::make_shared<int>(i), 10);
  }
  ASSERT_NE(cache.find(0), nullptr);
  EXPECT_EQ(cache.num_bytes(), 60);
}

}  // namespace
}  // namespace plumb
