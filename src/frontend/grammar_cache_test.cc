// SPDX-License-Identifier: Apache-2.0
#include "frontend/grammar_cache.h"

#include <gtest/gtest.h>

#include "grammar/cfg.h"
#include "grammar/compiled_grammar.h"

namespace plumb {
namespace {

std::shared_ptr<const CompiledGrammar> grammar() {
  static const auto vocab =
      std::make_shared<GrammarVocab>(std::vector<std::string>{"a"}, std::vector<TokenId>{});
  Cfg cfg;
  cfg.set_start(cfg.terminal("a"));
  CompileBudget budget;
  return CompiledGrammar::compile(std::move(cfg), vocab, {}, &budget).value();
}

TEST(GrammarCache, the_least_recently_used_leave_when_the_bytes_do_not_suffice) {
  GrammarCache cache(100);
  const auto first = grammar();
  cache.put(sha256("1"), first, 40);
  cache.put(sha256("2"), grammar(), 40);
  EXPECT_EQ(cache.find(sha256("1")), first);
  cache.put(sha256("3"), grammar(), 40);
  EXPECT_EQ(cache.find(sha256("2")), nullptr);
  EXPECT_EQ(cache.find(sha256("1")), first);
  EXPECT_NE(cache.find(sha256("3")), nullptr);
  EXPECT_EQ(cache.num_bytes(), 80);
  EXPECT_EQ(cache.size(), 2);
}

TEST(GrammarCache, what_is_larger_than_the_cache_is_not_kept_and_nothing_is_kept_twice) {
  GrammarCache cache(100);
  cache.put(sha256("1"), grammar(), 101);
  EXPECT_EQ(cache.size(), 0);
  const auto first = grammar();
  cache.put(sha256("2"), first, 60);
  cache.put(sha256("2"), grammar(), 60);
  EXPECT_EQ(cache.find(sha256("2")), first);
  EXPECT_EQ(cache.num_bytes(), 60);
}

}  // namespace
}  // namespace plumb
