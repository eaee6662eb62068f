// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"

namespace plumb {
namespace {

using Grammar = std::shared_ptr<const CompiledGrammar>;

// Every way to read a text as a tree of twos and threes.
constexpr std::string_view kTrees = R"(root ::= s
s ::= s s s | s s | "a" | "b" | [a-z ])";
// Each prefix of letters is a state of its own.
constexpr std::string_view kMirror =
    R"(root ::= "a" root "a" | "b" root "b" | [a-z ] root [a-z ] | "")";
constexpr std::string_view kProgram = R"ebnf(
root      ::= statement+
statement ::= ident " = " expr ";\n" | "if (" expr ") {\n" statement* "}\n"
expr      ::= expr " + " term | expr " - " term | term
term      ::= term " * " factor | factor
factor    ::= ident | number | ident "(" (expr ("," expr)*)? ")" | "(" expr ")"
ident     ::= [a-z_] [a-z0-9_]*
number    ::= [0-9]+ ("." [0-9]+)?)ebnf";

// All texts of up to three letters of "abc" and some marks.
std::shared_ptr<const GrammarVocab> letter_vocab() {
  const std::string letters = "abc =+-*();,\n{}if1.";
  std::vector<std::string> tokens{""};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string shorter = tokens[i];
    for (const char letter : shorter.size() < 3 ? letters : std::string()) {
      tokens.push_back(shorter + letter);
    }
  }
  return std::make_unique<const GrammarVocab>(std::move(tokens), std::vector<TokenId>{0});
}

Grammar compile_letters(std::string_view ebnf, const GrammarLimits& limits = {}) {
  CompileBudget budget;
  const GrammarSpec spec{.kind = GrammarKind::kEbnf, .text = std::string(ebnf)};
  return compile_grammar(spec, letter_vocab(), limits, &budget).value();
}

// Writes the text a byte a token with a mask before each; gives the number of tokens taken.
int follow(GrammarMatcher* matcher, std::string_view text) {
  std::vector<std::uint32_t> mask(
      static_cast<std::size_t>(matcher->grammar().vocab().num_mask_words()));
  int num = 0;
  for (const char c : text) {
    if (!matcher->fill_mask(mask) || !matcher->accept_bytes(std::string_view(&c, 1))) {
      break;
    }
    ++num;
  }
  return num;
}

std::string letters(int num) {
  std::string text;
  for (int i = 0; i < num; ++i) {
    text += static_cast<char>('a' + (i * 7 + i / 3) % 3);
  }
  return text;
}

TEST(MatcherWork, too_much_ends_this_matcher_only_and_says_why) {
  for (const std::string_view ebnf : {kTrees, kMirror}) {
    GrammarLimits limits;
    limits.matcher.max_work = 100'000;
    limits.matcher.work_per_token = 1'000;
    const Grammar grammar = compile_letters(ebnf, limits);
    GrammarMatcher matcher(grammar);
    const int num = follow(&matcher, letters(2'000));
    EXPECT_GT(num, 5) << ebnf;
    EXPECT_LT(num, 1'500) << ebnf;
    EXPECT_EQ(matcher.status(),
              Status(Code::kResourceExhausted,
                     "grammar: there are too many ways to read the text, and following them takes "
                     "too long; make the grammar less ambiguous"));
    EXPECT_LE(matcher.work(), 100'000 + 1'000 * num + 10'000);  // stops soon after the limit
    GrammarMatcher other(grammar);
    EXPECT_EQ(follow(&other, letters(5)), 5);
    matcher.reset();
    EXPECT_EQ(follow(&matcher, letters(5)), 5);
  }
}

TEST(MatcherWork, of_an_ambiguous_text_grows_with_the_square_of_its_length_a_byte) {
  const Grammar grammar = compile_letters(kTrees);
  std::vector<std::int64_t> work;
  for (const int num : {40, 80}) {
    GrammarMatcher matcher(grammar);
    ASSERT_TRUE(matcher.accept_bytes(letters(num))) << matcher.status().message();
    work.push_back(matcher.work());
  }
  // For each byte: for each position before it the rules that may end here and began there, once.
  EXPECT_LT(work[0], 40 * 40 * 40);
  EXPECT_LT(work[1], 80 * 80 * 80);
}

TEST(MatcherWork, of_usual_grammars_is_far_below_what_a_token_is_granted) {
  std::string program;
  for (int i = 0; i < 60; ++i) {
    program += i % 7 == 0 ? "if (a_1(b,c * (a + 1.1))) {\nb = c - 1;\n}\n"
                          : "abc = a * (b + c) - f(a,b,c) * 1.11;\n";
  }
  const Grammar grammar = compile_letters(kProgram);
  const MatcherLimits limits;
  GrammarMatcher matcher(grammar);
  EXPECT_EQ(follow(&matcher, program), std::ssize(program)) << matcher.status().message();
  EXPECT_LT(matcher.work(), std::ssize(program) * limits.work_per_token / 10);
}

}  // namespace
}  // namespace plumb
