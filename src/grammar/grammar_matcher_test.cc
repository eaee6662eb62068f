// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_matcher.h"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "base/rng.h"

namespace plumb {
namespace {

using Mask = std::vector<std::uint32_t>;

std::shared_ptr<const GrammarVocab> vocab_of(std::vector<std::string> tokens,
                                             std::vector<TokenId> ends = {}) {
  return std::make_shared<const GrammarVocab>(std::move(tokens), std::move(ends));
}

std::shared_ptr<const CompiledGrammar> compile_cfg(Cfg cfg,
                                                   std::shared_ptr<const GrammarVocab> vocab,
                                                   const GrammarLimits& limits = {}) {
  CompileBudget budget;
  auto grammar = CompiledGrammar::compile(std::move(cfg), std::move(vocab), limits, &budget);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return std::move(grammar).value();
}

std::set<TokenId> allowed(GrammarMatcher* matcher) {
  Mask mask(static_cast<std::size_t>(matcher->grammar().vocab().num_mask_words()) + 1, 0xFFFFFFFF);
  const bool any = matcher->fill_mask(mask);
  std::set<TokenId> out;
  for (std::size_t t = 0; t < mask.size() * 32; ++t) {
    if (((mask[t / 32] >> (t % 32)) & 1) != 0) {
      out.insert(static_cast<TokenId>(t));
    }
  }
  EXPECT_EQ(any, !out.empty());
  return out;
}

std::set<TokenId> accepted_by_forks(const GrammarMatcher& matcher) {
  std::set<TokenId> out;
  for (TokenId t = 0; t < matcher.grammar().vocab().vocab_size(); ++t) {
    if (matcher.fork().accept(t)) {
      out.insert(t);
    }
  }
  return out;
}

// list = "[" (value ("," value)*)? "]" with value = number | list
Cfg nested_lists() {
  Cfg cfg;
  RegexSet& set = cfg.regexes();
  const SymbolId number = cfg.terminal(set.repeat(set.byte_range('0', '9'), 1, kUnbounded));
  const SymbolId list = cfg.nonterminal("list");
  const SymbolId value = cfg.any_of(std::array{number, list});
  const SymbolId more = cfg.sequence({cfg.terminal(","), value});
  const SymbolId values = cfg.sequence({value, cfg.repeat(more, 0, kUnbounded)});
  cfg.add_rule(list, {cfg.terminal("["), cfg.optional(values), cfg.terminal("]")});
  cfg.set_start(list);
  return cfg;
}

TEST(GrammarMatcher, masks_what_may_come_next) {
  GrammarMatcher matcher(compile_cfg(
      nested_lists(),
      vocab_of({"[", "]", ",", "1", "23", "[]", "]]", "],", ",[", "<end>", "", "x", "[1,[2"},
               {9})));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 5, 12}));
  ASSERT_TRUE(matcher.accept(12));  // [1,[2
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{1, 2, 3, 4, 6, 7, 8}));
  EXPECT_FALSE(matcher.accept(9));
  ASSERT_TRUE(matcher.accept(1));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{1, 2, 8}));
  ASSERT_TRUE(matcher.accept(1));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{9}));
  ASSERT_TRUE(matcher.accept(9));
  EXPECT_TRUE(matcher.is_terminated());
  EXPECT_EQ(allowed(&matcher), std::set<TokenId>{});
  EXPECT_FALSE(matcher.accept(9));
  matcher.rollback(2);
  EXPECT_FALSE(matcher.is_terminated());
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{1, 2, 8}));
  matcher.reset();
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 5, 12}));
}

TEST(GrammarMatcher, every_end_token_and_every_spelling_of_a_text_is_allowed) {
  Cfg cfg;
  cfg.set_start(cfg.repeat(cfg.terminal("ab"), 0, kUnbounded));
  GrammarMatcher matcher(compile_cfg(
      std::move(cfg), vocab_of({"a", "b", "ab", "ab", "abab", "</s>", "b", "<eot>"}, {7, 5, 99})));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 2, 3, 4, 5, 7}));
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{1, 6}));
}

TEST(GrammarMatcher, a_terminal_may_end_before_its_longest_match) {
  Cfg cfg;
  RegexSet& set = cfg.regexes();
  const SymbolId letters = cfg.terminal(set.repeat(set.byte_range('a', 'z'), 1, kUnbounded));
  cfg.set_start(cfg.sequence({letters, cfg.terminal("end"), cfg.terminal(";")}));
  GrammarMatcher matcher(
      compile_cfg(std::move(cfg), vocab_of({"x", "end", "end;", ";", "e", "nd;"})));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 1, 4}));
  ASSERT_TRUE(matcher.accept(1));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 1, 2, 4}));
  ASSERT_TRUE(matcher.accept(4));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 1, 2, 4, 5}));
  ASSERT_TRUE(matcher.accept_bytes("nd"));
  EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 1, 2, 3, 4}));
}

TEST(GrammarMatcher, jumps_over_forced_bytes_to_where_a_choice_is) {
  Cfg cfg;
  const SymbolId name = cfg.any_of(std::array{cfg.terminal("Anna"), cfg.terminal("Andrew")});
  cfg.set_start(cfg.sequence({cfg.terminal("{\"name\": \""), name, cfg.terminal("\"}")}));
  GrammarMatcher matcher(compile_cfg(std::move(cfg), vocab_of({"a"})));
  EXPECT_EQ(matcher.jump_forward(), "{\"name\": \"An");
  EXPECT_EQ(matcher.jump_forward(3), "{\"n");
  ASSERT_TRUE(matcher.accept_bytes("{\"name\": \"Ann"));
  EXPECT_EQ(matcher.jump_forward(), "a\"}");
  ASSERT_TRUE(matcher.accept_bytes("a\"}"));
  EXPECT_EQ(matcher.jump_forward(), "");
  EXPECT_TRUE(matcher.is_complete());
}

TEST(GrammarMatcher, a_text_that_may_end_forces_nothing) {
  Cfg cfg;
  cfg.set_start(cfg.repeat(cfg.terminal("ab"), 0, kUnbounded));
  GrammarMatcher matcher(compile_cfg(std::move(cfg), vocab_of({"a"})));
  EXPECT_EQ(matcher.jump_forward(), "");
  ASSERT_TRUE(matcher.accept_bytes("a"));
  EXPECT_EQ(matcher.jump_forward(), "b");
}

TEST(GrammarMatcher, a_long_list_needs_no_more_rows_however_it_recurs) {
  for (const bool left : {true, false}) {
    Cfg cfg;
    const SymbolId list = cfg.nonterminal("list");
    const SymbolId item = cfg.terminal("x,");
    cfg.add_rule(list, {item});
    cfg.add_rule(list, left ? std::vector{list, item} : std::vector{item, list});
    cfg.set_start(list);
    GrammarLimits limits;
    limits.matcher.max_bytes = 10'000;
    GrammarMatcher matcher(compile_cfg(std::move(cfg), vocab_of({"x", ","}), limits));
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(matcher.accept(i % 2)) << matcher.status().message();
    }
    EXPECT_TRUE(matcher.is_complete());
  }
}

TEST(GrammarMatcher, depth_beyond_the_memory_fails_this_matcher_only) {
  GrammarLimits limits;
  limits.matcher.max_bytes = 100'000;
  const auto grammar = compile_cfg(nested_lists(), vocab_of({"[", "]"}), limits);
  GrammarMatcher matcher(grammar);
  int depth = 0;
  while (matcher.accept(0)) {
    ASSERT_LT(++depth, 10'000);
  }
  EXPECT_GT(depth, 100);
  EXPECT_EQ(matcher.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(allowed(&matcher), std::set<TokenId>{});
  GrammarMatcher other(grammar);
  EXPECT_EQ(allowed(&other), std::set<TokenId>{0});
  matcher.reset();
  EXPECT_TRUE(matcher.accept(0));
}

TEST(GrammarMatcher, unused_rows_are_given_back) {
  GrammarLimits limits;
  limits.matcher.max_bytes = 200'000;
  GrammarMatcher matcher(compile_cfg(nested_lists(), vocab_of({"[", "]", ","}), limits));
  ASSERT_TRUE(matcher.accept(0));
  for (int round = 0; round < 200; ++round) {  // each time a way not gone before
    std::string text;
    for (int bit = 0; bit < 8; ++bit) {
      text += (round >> bit) % 2 == 0 ? "[" : "[[";
    }
    ASSERT_TRUE(matcher.accept_bytes(text)) << matcher.status().message();
    EXPECT_EQ(allowed(&matcher), (std::set<TokenId>{0, 1}));
    matcher.rollback(1);
  }
}

TEST(CompiledGrammar, says_that_no_text_matches) {
  Cfg cfg;
  const SymbolId loop = cfg.nonterminal("loop");
  cfg.add_rule(loop, {cfg.terminal("a"), loop});
  cfg.set_start(loop);
  CompileBudget budget;
  const auto grammar = CompiledGrammar::compile(std::move(cfg), vocab_of({"a"}), {}, &budget);
  EXPECT_EQ(grammar.status(), Status(Code::kInvalidArgument, "grammar: no text matches it"));
}

// A random grammar and its texts of up to 6 letters, found by expanding sentential forms.
class RandomGrammar {
 public:
  static constexpr std::size_t kMaxLen = 6;

  explicit RandomGrammar(std::uint64_t seed) : rng_(seed) {}

  Cfg make() {
    Cfg cfg;
    std::vector<SymbolId> symbols;
    const std::int64_t num_nonterminals = 1 + rng_.below(4);
    for (std::int64_t n = 0; n < num_nonterminals; ++n) {
      symbols.push_back(cfg.nonterminal("n"));
    }
    const std::int64_t num_terminals = 1 + rng_.below(4);
    for (std::int64_t n = 0; n < num_terminals; ++n) {
      symbols.push_back(cfg.terminal(regex(&cfg.regexes(), 2)));
    }
    for (std::int64_t n = 0; n < num_nonterminals; ++n) {
      const std::int64_t num_rules = 1 + rng_.below(3);
      for (std::int64_t r = 0; r < num_rules; ++r) {
        std::vector<SymbolId> rhs;
        for (std::int64_t i = rng_.below(4); i > 0; --i) {
          rhs.push_back(symbols[static_cast<std::size_t>(rng_.below(std::ssize(symbols)))]);
        }
        cfg.add_rule(symbols[static_cast<std::size_t>(n)], rhs);
      }
    }
    cfg.set_start(symbols[0]);
    return cfg;
  }

  // The texts of each symbol up to kMaxLen letters, by the least fixed point.
  static std::set<std::string> texts(Cfg* cfg) {
    std::vector<std::set<std::string>> of(static_cast<std::size_t>(cfg->num_symbols()));
    for (std::int64_t s = 0; s < cfg->num_symbols(); ++s) {
      if (cfg->is_terminal(static_cast<SymbolId>(s))) {
        spell(&cfg->regexes(), cfg->regex(static_cast<SymbolId>(s)), "",
              &of[static_cast<std::size_t>(s)]);
      }
    }
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (const Cfg::Rule& rule : cfg->rules()) {
        std::set<std::string> whole{""};
        for (const SymbolId part : rule.rhs) {
          std::set<std::string> next;
          for (const std::string& a : whole) {
            for (const std::string& b : of[static_cast<std::size_t>(part)]) {
              if (a.size() + b.size() <= kMaxLen) {
                next.insert(a + b);
              }
            }
          }
          whole = std::move(next);
        }
        std::set<std::string>& of_lhs = of[static_cast<std::size_t>(rule.lhs)];
        const std::size_t before = of_lhs.size();
        of_lhs.insert(whole.begin(), whole.end());
        is_changed = is_changed || of_lhs.size() != before;
      }
    }
    return of[static_cast<std::size_t>(cfg->start())];
  }

 private:
  RegexId regex(RegexSet* set, int depth) {
    switch (rng_.below(depth == 0 ? 3 : 7)) {
      case 0:
        return set->literal("a");
      case 1:
        return set->literal("b");
      case 2:
        return set->byte_range('a', 'b');
      case 3:
        return set->concat(std::array{regex(set, depth - 1), regex(set, depth - 1)});
      case 4:
        return set->any_of(std::array{regex(set, depth - 1), regex(set, depth - 1)});
      case 5: {
        const std::int64_t min = rng_.below(2);
        return set->repeat(regex(set, depth - 1), min, rng_.below(2) == 0 ? kUnbounded : min + 1);
      }
      default:
        return set->all_of(
            std::array{regex(set, depth - 1), set->complement(regex(set, depth - 1))});
    }
  }

  static void spell(RegexSet* set, RegexId regex, const std::string& text,
                    std::set<std::string>* out) {
    if (set->is_nullable(regex)) {
      out->insert(text);
    }
    for (const char c : {'a', 'b'}) {
      if (text.size() < kMaxLen) {
        spell(set, set->derivative(regex, static_cast<std::uint8_t>(c)), text + c, out);
      }
    }
  }

  Rng rng_;
};

void for_each_text(std::string* text, std::size_t max_len,
                   const std::function<void(const std::string&)>& visit) {
  visit(*text);
  if (text->size() < max_len) {
    for (const char c : {'a', 'b'}) {
      text->push_back(c);
      for_each_text(text, max_len, visit);
      text->pop_back();
    }
  }
}

TEST(GrammarMatcherProperty, accepts_exactly_the_texts_that_the_rules_derive) {
  int num_with_texts = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    Cfg cfg = RandomGrammar(seed).make();
    const std::set<std::string> texts = RandomGrammar::texts(&cfg);
    CompileBudget budget;
    auto grammar = CompiledGrammar::compile(std::move(cfg), vocab_of({"a", "b"}), {}, &budget);
    if (!grammar.ok()) {
      EXPECT_TRUE(texts.empty()) << seed;
      continue;
    }
    ++num_with_texts;
    GrammarMatcher matcher{std::move(grammar).value()};
    std::string text;
    for_each_text(&text, RandomGrammar::kMaxLen, [&](const std::string& t) {
      matcher.reset();
      const bool is_text = matcher.accept_bytes(t) && matcher.is_complete();
      ASSERT_EQ(is_text, texts.contains(t)) << seed << " '" << t << "'";
    });
  }
  EXPECT_GT(num_with_texts, 500);
}

std::vector<std::string> random_tokens(Rng* rng) {
  std::vector<std::string> tokens;
  const std::int64_t num = 2 + rng->below(70);
  for (std::int64_t i = 0; i < num; ++i) {
    std::string token;
    for (std::int64_t n = rng->below(rng->below(6) == 0 ? 24 : 6); n > 0; --n) {
      token.push_back(rng->below(20) == 0 ? 'c' : static_cast<char>('a' + rng->below(2)));
    }
    tokens.push_back(token);
  }
  return tokens;
}

TEST(GrammarMatcherProperty, the_mask_is_what_forks_accept_on_every_path) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Rng rng(seed, 1);
    CompileBudget budget;
    const std::vector<std::string> tokens = random_tokens(&rng);
    std::vector<TokenId> ends{static_cast<TokenId>(rng.below(std::ssize(tokens)))};
    ends.push_back(static_cast<TokenId>(rng.below(std::ssize(tokens))));
    auto grammar =
        CompiledGrammar::compile(RandomGrammar(seed).make(), vocab_of(tokens, ends), {}, &budget);
    if (!grammar.ok()) {
      continue;
    }
    GrammarMatcher matcher{std::move(grammar).value()};
    for (int step = 0; step < 25; ++step) {
      const std::set<TokenId> now = allowed(&matcher);
      ASSERT_EQ(now, accepted_by_forks(matcher)) << seed << " step " << step;
      if (now.empty() || rng.below(6) == 0) {
        const std::int64_t back = rng.below(matcher.num_steps() + 1);
        GrammarMatcher fork = matcher.fork();
        matcher.rollback(back);
        fork.rollback(back);
        ASSERT_EQ(allowed(&matcher), allowed(&fork)) << seed;
        continue;
      }
      auto chosen = now.begin();
      std::advance(chosen, rng.below(std::ssize(now)));
      ASSERT_TRUE(matcher.accept(*chosen));
    }
  }
}

// Long and short tokens are looked up apart, and states far from the end of a count together.
TEST(GrammarMatcherProperty, masks_are_exact_near_the_end_of_a_count) {
  std::vector<std::string> tokens;
  for (std::size_t n = 1; n <= 40; ++n) {
    tokens.emplace_back(n, 'a');
    tokens.push_back(std::string(n, 'a') + ";");
    tokens.push_back(std::string(n, 'a') + ";;b");
  }
  Cfg cfg;
  RegexSet& set = cfg.regexes();
  const RegexId count = set.repeat(set.byte_range('a', 'b'), 3, 60);
  const SymbolId item = cfg.terminal(set.concat(std::array{count, set.literal(";")}));
  cfg.set_start(cfg.sequence({item, cfg.terminal(";"), item}));
  GrammarMatcher matcher(compile_cfg(std::move(cfg), vocab_of(tokens)));
  for (int n = 0; n < 60; ++n) {
    ASSERT_EQ(allowed(&matcher), accepted_by_forks(matcher)) << n;
    ASSERT_TRUE(matcher.accept_bytes("b"));
  }
  EXPECT_EQ(allowed(&matcher), std::set<TokenId>{});
  ASSERT_TRUE(matcher.accept_bytes(";"));
  EXPECT_EQ(matcher.jump_forward(), ";");
}

TEST(GrammarMatcherProperty, a_replayed_path_meets_the_same_masks) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed, 2);
    CompileBudget budget;
    auto compiled = CompiledGrammar::compile(RandomGrammar(seed).make(),
                                             vocab_of(random_tokens(&rng), {0}), {}, &budget);
    if (!compiled.ok()) {
      continue;
    }
    const std::shared_ptr<const CompiledGrammar> grammar = std::move(compiled).value();
    GrammarMatcher matcher(grammar);
    std::vector<std::set<TokenId>> masks{allowed(&matcher)};
    std::vector<TokenId> path;
    while (path.size() < 12 && !masks.back().empty()) {
      auto chosen = masks.back().begin();
      std::advance(chosen, rng.below(std::ssize(masks.back())));
      path.push_back(*chosen);
      ASSERT_TRUE(matcher.accept(*chosen));
      masks.push_back(allowed(&matcher));
    }
    const std::string forced = matcher.jump_forward(16);
    while (!path.empty()) {
      GrammarMatcher replayed(grammar);
      for (const TokenId token : path) {
        ASSERT_TRUE(replayed.accept(token));
      }
      EXPECT_EQ(allowed(&replayed), masks[path.size()]);
      EXPECT_EQ(allowed(&matcher), masks[path.size()]);
      matcher.rollback(1);
      path.pop_back();
    }
    if (!forced.empty()) {
      EXPECT_TRUE(matcher.accept_bytes("") || matcher.is_terminated());
    }
  }
}

TEST(GrammarMatcherProperty, forced_bytes_are_the_only_way_on) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CompileBudget budget;
    auto compiled =
        CompiledGrammar::compile(RandomGrammar(seed).make(), vocab_of({"a"}), {}, &budget);
    if (!compiled.ok()) {
      continue;
    }
    GrammarMatcher matcher{std::move(compiled).value()};
    const std::string forced = matcher.jump_forward(8);
    for (const char c : forced) {
      ASSERT_FALSE(matcher.is_complete()) << seed;
      for (const char other : {'a', 'b'}) {
        ASSERT_EQ(matcher.fork().accept_bytes(std::string(1, other)), other == c) << seed;
      }
      ASSERT_TRUE(matcher.accept_bytes(std::string(1, c)));
    }
    if (forced.size() < 8) {
      int num_ways = matcher.is_complete() ? 1 : 0;
      for (const char other : {'a', 'b'}) {
        num_ways += matcher.fork().accept_bytes(std::string(1, other)) ? 1 : 0;
      }
      EXPECT_TRUE(num_ways > 1 || matcher.is_complete()) << seed;
    }
  }
}

}  // namespace
}  // namespace plumb
