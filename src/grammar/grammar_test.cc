// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/rng.h"
#include "grammar/grammar_cache.h"
#include "grammar/grammar_matcher.h"
#include "grammar/grammar_test_tools.h"

namespace plumb {
namespace {

Result<std::shared_ptr<const CompiledGrammar>> compile(const GrammarSpec& spec,
                                                       const CompileBudget::Limits& limits = {}) {
  CompileBudget budget(limits, {});
  return compile_grammar(spec, byte_vocab(), {}, &budget);
}

bool is_whole(const std::shared_ptr<const CompiledGrammar>& grammar, std::string_view text) {
  GrammarMatcher matcher(grammar);
  return matcher.accept_bytes(text) && matcher.is_complete();
}

TEST(Grammar, a_choice_is_one_of_its_texts) {
  const auto grammar =
      compile({.kind = GrammarKind::kChoice, .choices = {"yes", "yes please", "no", "no"}});
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(is_whole(grammar.value(), "yes"));
  EXPECT_TRUE(is_whole(grammar.value(), "yes please"));
  EXPECT_TRUE(is_whole(grammar.value(), "no"));
  EXPECT_FALSE(is_whole(grammar.value(), "yes pleas"));
  EXPECT_FALSE(is_whole(grammar.value(), "noyes"));
  GrammarMatcher matcher(grammar.value());
  ASSERT_TRUE(matcher.accept('y'));
  EXPECT_EQ(matcher.jump_forward(), "es");
  EXPECT_EQ(compile({.kind = GrammarKind::kChoice}).status().message(),
            "choice: the list is empty; give at least one text");
}

// Words of letters that all look different.
std::vector<std::string> many_choices(int num) {
  std::vector<std::string> out;
  for (int i = 0; i < num; ++i) {
    out.push_back("item-" + std::to_string((i * 7919LL) % 1'000'003) + "-" +
                  std::to_string(i % 97));
  }
  return out;
}

TEST(Grammar, fifty_thousand_choices_are_within_the_limits) {
  const GrammarSpec spec{.kind = GrammarKind::kChoice, .choices = many_choices(50'000)};
  const auto grammar = compile(spec);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  for (std::size_t i = 0; i < spec.choices.size(); i += 997) {
    EXPECT_TRUE(is_whole(grammar.value(), spec.choices[i])) << spec.choices[i];
    EXPECT_FALSE(is_whole(grammar.value(), spec.choices[i] + "-")) << spec.choices[i];
  }
  EXPECT_FALSE(is_whole(grammar.value(), "item-"));
}

TEST(Grammar, compiling_choices_asks_often_whether_to_stop_and_obeys) {
  const GrammarSpec spec{.kind = GrammarKind::kChoice, .choices = many_choices(9'000)};
  std::int64_t num_asked = 0;
  CompileBudget whole({}, [&] {
    ++num_asked;
    return false;
  });
  ASSERT_TRUE(compile_grammar(spec, byte_vocab(), {}, &whole).ok());
  EXPECT_GT(num_asked, 1000);
  for (const std::int64_t stop_at : {std::int64_t{1}, num_asked / 4, num_asked / 2, num_asked}) {
    std::int64_t num_left = stop_at;
    std::int64_t num_late = 0;  // questions after the first answer to stop
    CompileBudget budget({}, [&] {
      num_late += num_left <= 0 ? 1 : 0;
      return --num_left <= 0;
    });
    EXPECT_EQ(compile_grammar(spec, byte_vocab(), {}, &budget).status().code(),
              Code::kDeadlineExceeded);
    EXPECT_EQ(num_late, 0);
  }
}

TEST(Grammar, choices_that_cannot_be_are_named) {
  const auto error = [](std::vector<std::string> choices) {
    return compile({.kind = GrammarKind::kChoice, .choices = std::move(choices)})
        .status()
        .message();
  };
  EXPECT_EQ(error({"a", ""}), "choice: text 1 is empty; leave it out");
  EXPECT_EQ(error({"\xFF"}), "choice: text 0 is not well-formed UTF-8");
  EXPECT_EQ(error({std::string(1 << 20, 'a'), "b"}),
            "choice: the texts have 1048577 bytes together, expected at most 1048576");
  EXPECT_EQ(error(std::vector<std::string>(100'001, "a")),
            "choice: 100001 texts exceed the limit 100000");
}

TEST(Grammar, a_regex_matches_the_whole_output) {
  const auto grammar = compile({.kind = GrammarKind::kRegex, .text = R"(\d{3}-\d{4})"});
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(is_whole(grammar.value(), "555-1234"));
  EXPECT_FALSE(is_whole(grammar.value(), "x555-1234"));
  EXPECT_EQ(compile({.kind = GrammarKind::kRegex, .text = "a(?=b)"}).status().code(),
            Code::kUnsupported);
}

TEST(Grammar, a_json_object_may_hold_anything_with_few_blanks) {
  const auto compiled = compile({.kind = GrammarKind::kJsonObject});
  ASSERT_TRUE(compiled.ok());
  for (const std::string_view good :
       {"{}", "{ \n}", R"({"a":1})", R"({ "a" : [ 1, -2.5e+3, "x\n\u00e9" ] , "b": {"c": null} })",
        R"({"":[[],{},true,false]})"}) {
    EXPECT_TRUE(is_whole(compiled.value(), good)) << good;
  }
  for (const std::string_view bad :
       {"[]", "{", R"({"a"})", R"({"a":01})", R"({"a":1,})", R"({a:1})", R"({   "a":1})",
        "{\"a\":\"\n\"}", R"({"a":.5})", R"({"a":1} )", R"({"a":[1,]})"}) {
    EXPECT_FALSE(is_whole(compiled.value(), bad)) << bad;
  }
}

// Follows masks at random; what comes out has to parse.
TEST(Grammar, every_text_that_the_masks_of_a_json_object_lead_to_is_one) {
  const auto compiled = compile({.kind = GrammarKind::kJsonObject});
  ASSERT_TRUE(compiled.ok());
  int num_finished = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    GrammarMatcher matcher(compiled.value());
    std::string text;
    std::vector<std::uint32_t> mask(9);
    for (int step = 0; step < 400 && !matcher.is_terminated(); ++step) {
      ASSERT_TRUE(matcher.fill_mask(mask));
      TokenId token = 0;
      do {  // closing is likelier, or no text would end
        constexpr std::string_view kLikely = "\"}],:{0";
        token = rng.below(2) == 0 ? static_cast<TokenId>(rng.below(257))
                                  : kLikely[static_cast<std::size_t>(rng.below(7))];
        token = rng.below(4) == 0 ? 256 : token;
      } while (((mask[static_cast<std::size_t>(token) / 32] >> (token % 32)) & 1) == 0);
      ASSERT_TRUE(matcher.accept(token));
      if (token < 256) {
        text.push_back(static_cast<char>(token));
      }
    }
    if (matcher.is_terminated()) {
      ++num_finished;
      const Result<Json> json = parse_json(text, {.max_depth = 1000});
      ASSERT_TRUE(json.ok()) << text << json.status().message();
      EXPECT_TRUE(json.value().is_object());
    }
  }
  EXPECT_GT(num_finished, 30);
}

TEST(Grammar, an_ebnf_whose_joined_automaton_is_too_large_is_cut_into_small_terminals) {
  // As one automaton: 2^14 states.
  const GrammarSpec spec{.kind = GrammarKind::kEbnf, .text = "root ::= [ab]* \"a\" [ab]{13}"};
  const auto grammar = compile(spec, {.max_states = 8000});
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_GT(grammar.value()->tables().terminals.size(), 1U);
  EXPECT_TRUE(is_whole(grammar.value(), "bba" + std::string(13, 'b')));
  EXPECT_FALSE(is_whole(grammar.value(), "bbb" + std::string(13, 'b')));
}

TEST(Grammar, a_regex_that_needs_too_many_states_is_refused) {
  const auto grammar =
      compile({.kind = GrammarKind::kRegex, .text = "(a|b)*a(a|b){25}"}, {.max_states = 10'000});
  EXPECT_EQ(grammar.status().code(), Code::kResourceExhausted);
}

TEST(Grammar, compilation_can_be_cancelled) {
  CompileBudget budget({}, [] { return true; });
  const auto grammar = compile_grammar({.kind = GrammarKind::kRegex, .text = "(a|b)*a(a|b){25}"},
                                       byte_vocab(), {}, &budget);
  EXPECT_EQ(grammar.status().code(), Code::kDeadlineExceeded);
}

TEST(Grammar, specs_that_differ_have_other_digests) {
  const GrammarSpec one{.kind = GrammarKind::kChoice, .choices = {"ab", "c"}};
  const GrammarSpec two{.kind = GrammarKind::kChoice, .choices = {"a", "bc"}};
  const GrammarSpec regex{.kind = GrammarKind::kRegex, .text = "x"};
  const GrammarSpec ebnf{.kind = GrammarKind::kEbnf, .text = "x"};
  EXPECT_EQ(digest_of(one), digest_of(one));
  EXPECT_NE(digest_of(one), digest_of(two));
  EXPECT_NE(digest_of(regex), digest_of(ebnf));
}

TEST(GrammarCache, drops_the_least_recently_used) {
  std::vector<GrammarSpec> specs;
  for (const char* text : {"a", "b", "c"}) {
    specs.push_back({.kind = GrammarKind::kRegex, .text = text});
  }
  const auto grammar = compile(specs[0]).value();
  GrammarCache cache(2 * grammar->num_bytes());
  cache.insert(specs[0], grammar);
  cache.insert(specs[1], compile(specs[1]).value());
  EXPECT_EQ(cache.find(specs[0]), grammar);
  cache.insert(specs[2], compile(specs[2]).value());
  EXPECT_EQ(cache.num_grammars(), 2);
  EXPECT_EQ(cache.num_bytes(), 2 * grammar->num_bytes());
  EXPECT_EQ(cache.find(specs[1]), nullptr);
  EXPECT_EQ(cache.find(specs[0]), grammar);
  EXPECT_NE(cache.find(specs[2]), nullptr);
}

// Tokens of "ab", "abc", ...: encodes by the longest token.
std::shared_ptr<const GrammarVocab> greedy_vocab(const std::vector<std::string>& tokens) {
  return std::make_shared<const GrammarVocab>(
      tokens, std::vector<TokenId>{}, [tokens](std::string_view text) {
        std::vector<TokenId> out;
        while (!text.empty()) {
          std::size_t best = 0;
          for (std::size_t t = 0; t < tokens.size(); ++t) {
            if (text.starts_with(tokens[t]) &&
                (!text.starts_with(tokens[best]) || tokens[t].size() > tokens[best].size())) {
              best = t;
            }
          }
          out.push_back(static_cast<TokenId>(best));
          text.remove_prefix(tokens[best].size());
        }
        return out;
      });
}

TEST(JumpForward, leaves_the_last_tokens_to_the_model_if_one_could_reach_beyond) {
  const std::vector<std::string> tokens = {"{",    "\"",  "n",      "a", "m",    "e", ":",
                                           "name", "\":", "\": \"", " ", "\":1", "0", "1"};
  CompileBudget budget;
  const auto compile_regex = [&](const char* pattern) {
    return compile_grammar({.kind = GrammarKind::kRegex, .text = pattern}, greedy_vocab(tokens), {},
                           &budget)
        .value();
  };
  // Forced: {"name": then a digit. The token ":1 spans the end of it, so the model writes ":
  // itself.
  GrammarMatcher digit(compile_regex(R"(\{"name":[01])"));
  EXPECT_EQ(digit.jump_forward(), "{\"name\":");
  EXPECT_EQ(digit.jump_forward_tokens(), (std::vector<TokenId>{0, 1, 7}));
  // Without the digit 1 that token does not match any more.
  GrammarMatcher zero(compile_regex(R"(\{"name":[0n])"));
  EXPECT_EQ(zero.jump_forward_tokens(), (std::vector<TokenId>{0, 1, 7, 8}));
  EXPECT_EQ(zero.num_steps(), 0);
}

TEST(JumpForward, gives_no_tokens_without_an_encoder) {
  const auto grammar = compile({.kind = GrammarKind::kRegex, .text = "abc"});
  GrammarMatcher matcher(grammar.value());
  EXPECT_EQ(matcher.jump_forward(), "abc");
  EXPECT_TRUE(matcher.jump_forward_tokens().empty());
}

}  // namespace
}  // namespace plumb
