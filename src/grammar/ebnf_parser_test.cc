// SPDX-License-Identifier: Apache-2.0
#include "grammar/ebnf_parser.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"

namespace plumb {
namespace {

std::shared_ptr<const CompiledGrammar> compile_ebnf(std::string_view text,
                                                    bool join_regular = true) {
  CompileBudget budget;
  NotationOptions options;
  options.join_regular = join_regular;
  Result<Cfg> cfg = parse_ebnf(text, options, &budget);
  EXPECT_TRUE(cfg.ok()) << cfg.status().message();
  const auto vocab =
      std::make_shared<const GrammarVocab>(std::vector<std::string>{"a"}, std::vector<TokenId>{});
  auto grammar = compile_grammar(std::move(cfg).value(), vocab, {}, &budget);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return std::move(grammar).value();
}

// Both ways to cut the grammar into terminals have to agree.
bool rules_match(std::string_view grammar, std::string_view text) {
  std::vector<bool> answers;
  for (const bool join_regular : {true, false}) {
    GrammarMatcher matcher(compile_ebnf(grammar, join_regular));
    answers.push_back(matcher.accept_bytes(text) && matcher.is_complete());
  }
  EXPECT_EQ(answers[0], answers[1]) << text;
  return answers[0];
}

std::string ebnf_error(std::string_view text) {
  CompileBudget budget;
  const Result<Cfg> cfg = parse_ebnf(text, {}, &budget);
  return cfg.ok() ? "" : cfg.status().message();
}

TEST(EbnfParser, reads_literals_classes_and_quantifiers) {
  constexpr std::string_view kGrammar = R"ebnf(
    # a list of words
    root ::= word ("," ws word)* "." ?
    word ::= [a-zA-Z_] [^ ,.\x41-\u0043]{1,3}
           | "\"\\\n\t\x21\u00e9\U0001F600"
    ws   ::= | " " | "\n" [ \t]*
  )ebnf";
  EXPECT_TRUE(rules_match(kGrammar, "ab"));
  EXPECT_TRUE(rules_match(kGrammar, "abcd, xy."));
  EXPECT_TRUE(rules_match(kGrammar, "ab,\n \txy"));
  EXPECT_FALSE(rules_match(kGrammar, "abcde"));
  EXPECT_FALSE(rules_match(kGrammar, "a"));
  EXPECT_FALSE(rules_match(kGrammar, "aA"));
  EXPECT_TRUE(rules_match(kGrammar, "\"\\\n\t!\xC3\xA9\xF0\x9F\x98\x80"));
}

TEST(EbnfParser, rules_may_recur_on_the_left_on_the_right_and_in_the_middle) {
  constexpr std::string_view kGrammar = R"ebnf(
    root ::= sum
    sum ::= sum [-+] product | product
    product ::= factor ([*/] product)?
    factor ::= [0-9]+ | "(" sum ")"
  )ebnf";
  EXPECT_TRUE(rules_match(kGrammar, "1+2*(3-4)/5-6"));
  EXPECT_FALSE(rules_match(kGrammar, "1+"));
  EXPECT_FALSE(rules_match(kGrammar, "(1"));
  EXPECT_TRUE(rules_match("root ::= \"\" | root \"a\"", "aaa"));
  EXPECT_TRUE(rules_match("root ::= a\na ::= b | \"x\"\nb ::= a", "x"));
  EXPECT_TRUE(rules_match("root ::= (\"a\" root \"b\" | ) root?", "aabbab"));
  EXPECT_FALSE(rules_match("root ::= (\"a\" root \"b\" | ) root?", "aabbb"));
}

TEST(EbnfParser, counts_bound_rules_that_recur) {
  constexpr std::string_view kGrammar = "root ::= pair{2,3}\npair ::= \"(\" pair* \")\"";
  EXPECT_FALSE(rules_match(kGrammar, "()"));
  EXPECT_TRUE(rules_match(kGrammar, "()(())"));
  EXPECT_TRUE(rules_match(kGrammar, "()()(()())"));
  EXPECT_FALSE(rules_match(kGrammar, "()()()()"));
}

TEST(EbnfParser, errors_name_line_and_column) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"root ::= \"a\n", "ebnf: line 1, column 10: literal is not closed"},
      {"root ::= [a", "ebnf: line 1, column 10: class is not closed"},
      {"root ::= [b-a]", "ebnf: line 1, column 11: range has its bounds in the wrong order"},
      {"root ::= [z]\n  | (\"a\"", "ebnf: line 2, column 5: group is not closed"},
      {"root ::= x\n", "ebnf: line 1, column 10: rule x is not defined"},
      {"a ::= \"b\"", "ebnf: there is no rule root"},
      {"root ::= \"a\"\nroot ::= \"b\"", "ebnf: line 2, column 1: rule root is defined twice"},
      {"root = \"a\"", "ebnf: line 1, column 6: '::=' is expected after rule name root"},
      {"root ::= \"a\" )", "ebnf: line 1, column 14: ')' is not expected here"},
      {"root ::= \"a\"{3,2}",
       "ebnf: line 1, column 13: quantifier has its bounds in the wrong order"},
      {"root ::= \"a\"{x}", "ebnf: line 1, column 14: a count is expected"},
      {"root ::= \"\\q\"", "ebnf: line 1, column 11: escape \\q is not known"},
      {"root ::= \"\\x1\"", "ebnf: line 1, column 11: escape needs 2 hexadecimal digits"},
      {"root ::= *", "ebnf: line 1, column 10: '*' is not expected here"},
      {"", "ebnf: there is no rule root"},
      {"root ::= \"a\"{1000001}", "ebnf: line 1, column 14: count exceeds the limit 1000000"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(ebnf_error(text), message) << text;
  }
  EXPECT_EQ(ebnf_error("root ::= " + std::string(65, '(') + "\"a\"" + std::string(65, ')')),
            "ebnf: line 1, column 75: groups nest deeper than 64");
}

TEST(EbnfParser, a_rule_that_only_recurs_matches_nothing) {
  CompileBudget budget;
  Result<Cfg> cfg = parse_ebnf("root ::= \"a\" root", {}, &budget);
  ASSERT_TRUE(cfg.ok());
  const auto vocab =
      std::make_shared<const GrammarVocab>(std::vector<std::string>{"a"}, std::vector<TokenId>{});
  EXPECT_EQ(compile_grammar(std::move(cfg).value(), vocab, {}, &budget).status(),
            Status(Code::kInvalidArgument, "grammar: no text matches it"));
}

TEST(EbnfParser, rules_may_double_a_count_beyond_all_bounds) {
  std::string text = "r0 ::= \"a\"{2}\n";
  for (int i = 1; i <= 64; ++i) {
    const std::string before = " r" + std::to_string(i - 1);
    text += "r" + std::to_string(i) + " ::=" + before + before + "\n";
  }
  const GrammarSpec spec{.kind = GrammarKind::kEbnf, .text = text + "root ::= \"a\" | r64"};
  CompileBudget budget({.max_states = 1'000}, {});
  const auto vocab =
      std::make_shared<const GrammarVocab>(std::vector<std::string>{"a"}, std::vector<TokenId>{});
  auto grammar = compile_grammar(spec, vocab, {}, &budget);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  GrammarMatcher matcher(std::move(grammar).value());
  EXPECT_TRUE(matcher.accept_bytes("a"));
  EXPECT_TRUE(matcher.is_complete());
}

}  // namespace
}  // namespace plumb
