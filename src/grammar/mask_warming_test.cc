// SPDX-License-Identifier: Apache-2.0
#include "grammar/mask_warming.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "grammar/grammar_test_tools.h"

namespace plumb {
namespace {

std::shared_ptr<const CompiledGrammar> compile_regex(const std::string& regex,
                                                     const GrammarLimits& limits = {}) {
  CompileBudget budget;
  auto grammar =
      compile_grammar({.kind = GrammarKind::kRegex, .text = regex}, byte_vocab(), limits, &budget);
  PLUMB_CHECK(grammar.ok(), grammar.status().message());
  return std::move(grammar).value();
}

// Whether the mask of each position along the text is there already.
std::vector<bool> known_along(const std::shared_ptr<const CompiledGrammar>& grammar,
                              std::string_view text) {
  RowStore rows(grammar->tables(), grammar->matcher_limits());
  RowId row = rows.start();
  std::vector<bool> known{grammar->find_mask(rows.key(row)) != nullptr};
  for (const char c : text) {
    row = rows.next(row, static_cast<std::uint8_t>(c));
    known.push_back(grammar->find_mask(rows.key(row)) != nullptr);
  }
  return known;
}

constexpr auto kGoOn = [] { return false; };

TEST(MaskWarming, a_request_finds_the_first_masks) {
  const auto grammar = compile_regex("ab(c|d)e");
  EXPECT_EQ(known_along(grammar, "ab"), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(warm_masks(*grammar, kGoOn), 5);  // after c and after d it is the same position
  EXPECT_EQ(known_along(grammar, "abce"), std::vector<bool>(5, true));
  EXPECT_EQ(warm_masks(*grammar, kGoOn), 0);
}

TEST(MaskWarming, a_warmed_mask_is_the_one_that_a_matcher_makes) {
  const auto warm = compile_regex("[a-f]{2}(x|yz)*");
  const auto cold = compile_regex("[a-f]{2}(x|yz)*");
  warm_masks(*warm, kGoOn);
  GrammarMatcher one(warm);
  GrammarMatcher other(cold);
  for (const char c : std::string("afxyz")) {
    std::vector<std::uint32_t> mask(9);
    std::vector<std::uint32_t> expected(9);
    EXPECT_EQ(one.fill_mask(mask), other.fill_mask(expected));
    EXPECT_EQ(mask, expected);
    ASSERT_TRUE(one.accept(c));
    ASSERT_TRUE(other.accept(c));
  }
}

TEST(MaskWarming, it_stops_when_it_is_told_to) {
  const auto grammar = compile_regex("[a-z]{500}");
  int num_asked = 0;
  EXPECT_EQ(warm_masks(*grammar, [&] { return ++num_asked > 3; }), 3);
  EXPECT_EQ(num_asked, 4);
  EXPECT_EQ(known_along(grammar, "aaaa"), (std::vector<bool>{true, true, true, false, false}));
}

TEST(MaskWarming, it_makes_few_masks_of_what_the_grammar_may_keep) {
  EXPECT_EQ(warm_masks(*compile_regex("[a-z]{500}"), kGoOn), kMaxWarmed);
  GrammarLimits limits;
  limits.mask_cache_bytes = 1;
  const std::int64_t mask_bytes =
      1024 / compile_regex("a", {.mask_cache_bytes = 1024})->max_masks();
  limits.mask_cache_bytes = 16 * mask_bytes;
  EXPECT_LE(warm_masks(*compile_regex("[a-z]{500}", limits), kGoOn), 4);
}

TEST(MaskWarming, a_mask_that_is_much_work_is_left_to_a_request) {
  std::vector<std::string> tokens{"a", std::string(150, 'a'), "</s>"};
  const auto vocab =
      std::make_shared<const GrammarVocab>(std::move(tokens), std::vector<TokenId>{2});
  const GrammarSpec trees{.kind = GrammarKind::kEbnf,
                          .text = R"(root ::= root root root | root root | "a")"};
  CompileBudget budget;
  const auto grammar = compile_grammar(trees, vocab, {}, &budget);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_EQ(warm_masks(*grammar.value(), kGoOn), 0);
  GrammarMatcher matcher(grammar.value());
  std::vector<std::uint32_t> mask(1);
  ASSERT_TRUE(matcher.fill_mask(mask)) << matcher.status().message();
  EXPECT_EQ(mask[0], 0b011U);
  EXPECT_GT(matcher.work(), kMaxWarmingWork);
}

}  // namespace
}  // namespace plumb
