// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/rng.h"
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "grammar/json_grammar.h"
#include "support/gguf_vocab.h"
#include "tokenizer/tokenizer.h"

// Times compiling grammars and their masks along generated texts of the grammars.
//
//   grammar_bench VOCAB.gguf
//
// Cold: the first request of a grammar in a process that has seen no other. Next: another request
// of it with another text. Texts are walks over the masks, token by token.
namespace plumb {
namespace {

constexpr int kMaxTokens = 600;

double micros(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

double micros_since(Clock::TimePoint begin) {
  return micros(system_clock().now() - begin);
}

void report(const char* what, std::vector<double> each) {
  double sum = 0;
  for (const double t : each) {
    sum += t;
  }
  std::sort(each.begin(), each.end());
  const auto at = [&](double q) {
    return each[static_cast<std::size_t>(q * static_cast<double>(each.size() - 1))];
  };
  std::printf("    %-6s mean %7.1f us   median %7.1f us   p99 %7.1f us   max %7.1f us   (%zu)\n",
              what, sum / static_cast<double>(each.size()), at(0.5), at(0.99), each.back(),
              each.size());
}

// A record as a schema of fixed properties would give it.
Cfg record_grammar() {
  Cfg cfg;
  RegexSet& set = cfg.regexes();
  const RegexId string = json_string(&set);
  const RegexId number = json_number(&set);
  const RegexId other =
      set.other_char(std::vector<CodePointRange>{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  const RegexId short_string = set.concat(
      std::vector<RegexId>{set.literal("\""), set.repeat(other, 0, 80), set.literal("\"")});
  const auto literal = [&](std::string_view text) { return cfg.terminal(text); };
  const auto terminal = [&](RegexId regex) { return cfg.terminal(regex); };
  const SymbolId tag = terminal(string);
  const SymbolId tags = cfg.sequence(
      {literal("["), tag, cfg.repeat(cfg.sequence({literal(", "), tag}), 0, 7), literal("]")});
  const SymbolId item =
      cfg.sequence({literal("{\"sku\": "), terminal(short_string), literal(", \"count\": "),
                    terminal(number), literal(", \"tags\": "), tags, literal("}")});
  cfg.set_start(cfg.sequence(
      {literal("{\"id\": "), terminal(number), literal(", \"name\": "), terminal(string),
       literal(", \"status\": "),
       terminal(set.any_of(std::vector<RegexId>{set.literal("\"open\""), set.literal("\"closed\""),
                                                set.literal("\"on hold\"")})),
       literal(", \"note\": "), terminal(short_string), literal(", \"items\": ["), item,
       cfg.repeat(cfg.sequence({literal(", "), item}), 2, 9), literal("]}")}));
  return cfg;
}

constexpr const char* kCGrammar = R"ebnf(
root       ::= ws function+
function   ::= type ident "(" ws params? ")" ws block
params     ::= param ("," ws param)*
param      ::= type ident
type       ::= ("int" | "float" | "char" | "void") space ws ("*" ws)?
block      ::= "{" ws statement* "}" ws
statement  ::= type ident ("=" ws expr)? ";" ws
             | "if" ws "(" ws expr ")" ws statement ("else" space ws statement)?
             | "while" ws "(" ws expr ")" ws statement
             | "return" space ws expr ";" ws
             | block
             | expr ";" ws
expr       ::= expr ("=" | "==" | "<" | "+" | "-" | "*" | "/" | "&&" | "||") ws unary | unary
unary      ::= ("!" | "-" | "&" | "*") ws unary | postfix
postfix    ::= postfix "(" ws (expr ("," ws expr)*)? ")" ws | postfix "[" ws expr "]" ws | primary
primary    ::= ident | number | string | "(" ws expr ")" ws
ident      ::= [a-zA-Z_] [a-zA-Z0-9_]* ws
number     ::= [0-9]+ ("." [0-9]+)? ws
string     ::= "\"" ([^"\\\n] | "\\" ["\\nt])* "\"" ws
ws         ::= [ \t\n]*
space      ::= [ \t\n]
)ebnf";

// A token of the mask, drawn evenly.
TokenId pick(const std::vector<std::uint32_t>& mask, const GrammarVocab& vocab, Rng* rng) {
  TokenId found = -1;
  for (int tries = 0; tries < 200'000; ++tries) {
    const auto token = static_cast<TokenId>(rng->below(vocab.vocab_size()));
    if (((mask[static_cast<std::size_t>(token) / 32] >> (token % 32)) & 1) != 0) {
      return token;
    }
  }
  for (TokenId token = 0; token < vocab.vocab_size() && found < 0; ++token) {
    if (((mask[static_cast<std::size_t>(token) / 32] >> (token % 32)) & 1) != 0) {
      found = token;
    }
  }
  return found;
}

std::vector<double> walk(const std::shared_ptr<const CompiledGrammar>& grammar, std::uint64_t seed,
                         std::vector<double>* accepts, std::int64_t* max_work) {
  const GrammarVocab& vocab = grammar->vocab();
  GrammarMatcher matcher(grammar);
  Rng rng(seed);
  std::vector<std::uint32_t> mask(static_cast<std::size_t>(vocab.num_mask_words()));
  std::vector<double> times;
  for (int i = 0; i < kMaxTokens && !matcher.is_terminated(); ++i) {
    const std::int64_t work_before = matcher.work();
    const Clock::TimePoint begin = system_clock().now();
    const bool any = matcher.fill_mask(mask);
    times.push_back(micros_since(begin));
    PLUMB_CHECK(any, "no token may come: " + matcher.status().message());
    const std::string closing = i % 3 == 0 ? matcher.jump_forward() : std::string();
    TokenId token = pick(mask, vocab, &rng);
    for (const std::string_view end : {"\"", "}", "]", ")", ";"}) {
      const std::optional<std::uint32_t> node = vocab.trie().find(end);
      const TokenId mark = vocab.trie().tokens(vocab.trie().nodes()[*node].first_entry)[0];
      if (rng.below(4) == 0 &&
          ((mask[static_cast<std::size_t>(mark) / 32] >> (mark % 32)) & 1) != 0) {
        token = mark;
      }
    }
    const Clock::TimePoint accept_begin = system_clock().now();
    PLUMB_CHECK(matcher.accept(token), "the mask allowed a token that is refused");
    accepts->push_back(micros_since(accept_begin));
    *max_work = std::max(*max_work, matcher.work() - work_before);
  }
  return times;
}

void bench(const char* name, const Tokenizer& tokenizer, const std::function<Cfg()>& make,
           const GrammarSpec& spec) {
  const std::shared_ptr<const GrammarVocab> vocab =
      GrammarVocab::from_tokenizer(tokenizer, tokenizer.vocab_size());
  CompileBudget budget;
  const Clock::TimePoint begin = system_clock().now();
  auto grammar = make ? compile_grammar(make(), vocab, {}, &budget)
                      : compile_grammar(spec, vocab, {}, &budget);
  const double compile_micros = micros_since(begin);
  PLUMB_CHECK(grammar.ok(), grammar.status().message());
  std::printf("%s: compiled in %.1f ms, %.1f KiB, %zu terminals\n", name, compile_micros / 1e3,
              static_cast<double>(grammar.value()->tables().num_bytes()) / 1024.0,
              grammar.value()->tables().terminals.size());
  std::vector<double> accepts;
  std::int64_t max_work = 0;
  report("cold", walk(grammar.value(), 1, &accepts, &max_work));
  std::vector<double> next;
  for (std::uint64_t seed = 2; seed < 7; ++seed) {
    const std::vector<double> times = walk(grammar.value(), seed, &accepts, &max_work);
    next.insert(next.end(), times.begin(), times.end());
  }
  report("next", std::move(next));
  report("accept", std::move(accepts));
  std::printf("    work of a token: at most %lld\n", static_cast<long long>(max_work));
}

int run(const char* path) {
  const Result<Metadata> metadata = GgufVocabReader::read(path);
  PLUMB_CHECK(metadata.ok(), metadata.status().message());
  const auto tokenizer = Tokenizer::from_metadata(metadata.value());
  PLUMB_CHECK(tokenizer.ok(), tokenizer.status().message());
  const Tokenizer& t = *tokenizer.value();
  const Clock::TimePoint begin = system_clock().now();
  const auto vocab = GrammarVocab::from_tokenizer(t, t.vocab_size());
  std::printf("vocabulary: %d tokens, %zu trie nodes, built in %.1f ms\n", vocab->vocab_size(),
              vocab->trie().nodes().size(), micros_since(begin) / 1e3);
  bench("json_object", t, {}, {.kind = GrammarKind::kJsonObject});
  bench("record", t, record_grammar, {});
  bench("regex (mail)", t, {},
        {.kind = GrammarKind::kRegex,
         .text =
             R"([a-z0-9._%+-]{1,64}@([a-z0-9-]{1,63}\.){1,4}[a-z]{2,24}(, [\w.]+@[\w.]+){20,99})"});
  bench("regex (words)", t, {},
        {.kind = GrammarKind::kRegex, .text = R"((\p{Lu}\p{Ll}+( \p{L}+)*[.!?] ){5,40})"});
  bench("C-like EBNF", t, {}, {.kind = GrammarKind::kEbnf, .text = kCGrammar});
  return 0;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: grammar_bench VOCAB.gguf\n");
    return 2;
  }
  return plumb::run(argv[1]);
}
