// SPDX-License-Identifier: Apache-2.0
#include "grammar/cfg.h"

#include <array>
#include <gtest/gtest.h>
#include <set>

namespace plumb {
namespace {

// The counts of x in the derivations of a symbol, up to a limit, by the least fixed point.
std::set<std::int64_t> counts_of(const Cfg& cfg, SymbolId symbol, std::int64_t limit) {
  std::vector<std::set<std::int64_t>> counts(static_cast<std::size_t>(cfg.num_symbols()));
  for (std::int64_t i = 0; i < cfg.num_symbols(); ++i) {
    if (cfg.is_terminal(static_cast<SymbolId>(i))) {
      counts[static_cast<std::size_t>(i)] = {1};
    }
  }
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const Cfg::Rule& rule : cfg.rules()) {
      std::set<std::int64_t> sums{0};
      for (const SymbolId part : rule.rhs) {
        std::set<std::int64_t> next;
        for (const std::int64_t a : sums) {
          for (const std::int64_t b : counts[static_cast<std::size_t>(part)]) {
            if (a + b <= limit) {
              next.insert(a + b);
            }
          }
        }
        sums = std::move(next);
      }
      std::set<std::int64_t>& of_lhs = counts[static_cast<std::size_t>(rule.lhs)];
      const std::size_t before = of_lhs.size();
      of_lhs.insert(sums.begin(), sums.end());
      is_changed = is_changed || of_lhs.size() != before;
    }
  }
  return counts[static_cast<std::size_t>(symbol)];
}

TEST(Cfg, a_terminal_is_one_symbol_for_each_language) {
  Cfg cfg;
  EXPECT_EQ(cfg.terminal("ab"), cfg.terminal(cfg.regexes().literal("ab")));
  EXPECT_NE(cfg.terminal("ab"), cfg.terminal("ac"));
  EXPECT_TRUE(cfg.is_terminal(cfg.terminal("ab")));
  EXPECT_EQ(cfg.regex(cfg.terminal("ab")), cfg.regexes().literal("ab"));
  const SymbolId value = cfg.nonterminal("value");
  EXPECT_FALSE(cfg.is_terminal(value));
  EXPECT_EQ(cfg.name(value), "value");
}

TEST(Cfg, repeat_derives_every_count_between_its_bounds) {
  constexpr std::int64_t kLimit = 40;
  for (const std::int64_t min : {0, 1, 2, 3, 7, 8}) {
    for (const std::int64_t more : {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 21, 31}) {
      Cfg cfg;
      const std::int64_t max = more < 0 ? kUnbounded : min + more;
      const SymbolId symbol = cfg.repeat(cfg.terminal("x"), min, max);
      std::set<std::int64_t> expected;
      for (std::int64_t n = min; n <= (max == kUnbounded ? kLimit : max); ++n) {
        expected.insert(n);
      }
      EXPECT_EQ(counts_of(cfg, symbol, kLimit), expected) << min << " " << max;
    }
  }
}

TEST(Cfg, repeat_needs_few_rules_for_large_counts) {
  Cfg cfg;
  cfg.repeat(cfg.terminal("x"), 12'345, 1'000'000'000);
  EXPECT_LT(std::ssize(cfg.rules()), 250);
}

TEST(Cfg, helpers_derive_sequences_and_options) {
  Cfg cfg;
  const SymbolId x = cfg.terminal("x");
  EXPECT_EQ(counts_of(cfg, cfg.sequence({x, x, x}), 9), (std::set<std::int64_t>{3}));
  EXPECT_EQ(counts_of(cfg, cfg.optional(x), 9), (std::set<std::int64_t>{0, 1}));
  EXPECT_EQ(counts_of(cfg, cfg.any_of(std::array{cfg.sequence({x, x}), x}), 9),
            (std::set<std::int64_t>{1, 2}));
  EXPECT_EQ(counts_of(cfg, cfg.sequence({}), 9), (std::set<std::int64_t>{0}));
  EXPECT_TRUE(counts_of(cfg, cfg.any_of({}), 9).empty());
}

}  // namespace
}  // namespace plumb
