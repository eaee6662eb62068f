// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "grammar/ebnf_parser.h"
#include "grammar/json_grammar.h"
#include "grammar/regex_parser.h"
#include "grammar/string_automata.h"

namespace plumb {
namespace {

Result<Cfg> regex_grammar(const std::string& pattern, const CompileBudget& budget) {
  Cfg cfg;
  RegexParseOptions options;
  options.max_pattern_bytes = kMaxGrammarBytes;
  options.max_expressions = budget.limits().max_expressions;
  options.is_cancelled = budget.is_cancelled();
  PLUMB_ASSIGN(const RegexId regex, parse_regex(pattern, options, &cfg.regexes()));
  cfg.set_start(cfg.terminal(regex));
  return cfg;
}

Result<Cfg> choice_grammar(const std::vector<std::string>& choices, CompileBudget* budget) {
  if (choices.empty()) {
    return Status{Code::kInvalidArgument, "choice: the list is empty; give at least one text"};
  }
  if (std::ssize(choices) > kMaxGrammarChoices) {
    return Status{Code::kInvalidArgument, "choice: " + std::to_string(choices.size()) +
                                              " texts exceed the limit " +
                                              std::to_string(kMaxGrammarChoices)};
  }
  std::int64_t num_bytes = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    num_bytes += std::ssize(choices[i]);
    const std::string name = "choice: text " + std::to_string(i);
    if (choices[i].empty()) {
      return Status{Code::kInvalidArgument, name + " is empty; leave it out"};
    }
    if (!is_valid_utf8(choices[i])) {
      return Status{Code::kInvalidArgument, name + " is not well-formed UTF-8"};
    }
  }
  if (num_bytes > kMaxGrammarBytes) {
    return Status{Code::kInvalidArgument, "choice: the texts have " + std::to_string(num_bytes) +
                                              " bytes together, expected at most " +
                                              std::to_string(kMaxGrammarBytes)};
  }
  Cfg cfg;
  PLUMB_ASSIGN(const RegexId texts,
               one_of_texts({choices.begin(), choices.end()}, &cfg.regexes(), budget));
  cfg.set_start(cfg.terminal(texts));
  return cfg;
}

// Large automata first; if they are too large, small ones, with what is left of the budget.
Result<std::shared_ptr<const CompiledGrammar>> compile_joined(
    const std::function<Result<Cfg>(bool join_regular, CompileBudget* budget)>& write,
    const std::shared_ptr<const GrammarVocab>& vocab, const GrammarLimits& limits,
    CompileBudget* budget, const std::vector<std::string>& ignored = {}) {
  constexpr std::int64_t kShare = 8;  // of the budget for the first attempt
  CompileBudget first = budget->share(kShare);
  Result<Cfg> joined = write(/*join_regular=*/true, &first);
  if (joined.ok()) {
    auto compiled = compile_grammar(std::move(joined).value(), vocab, limits, &first, ignored);
    if (compiled.ok() || compiled.status().code() != Code::kResourceExhausted) {
      return compiled;
    }
  } else if (joined.status().code() != Code::kResourceExhausted) {
    return joined.status();
  }
  PLUMB_ASSIGN(Cfg cfg, write(/*join_regular=*/false, budget));
  return compile_grammar(std::move(cfg), vocab, limits, budget, ignored);
}

Result<std::shared_ptr<const CompiledGrammar>> compile_ebnf(
    const std::string& text, const std::shared_ptr<const GrammarVocab>& vocab,
    const GrammarLimits& limits, CompileBudget* budget) {
  const auto write = [&](bool join_regular, CompileBudget* part) {
    NotationOptions options;
    options.max_text_bytes = kMaxGrammarBytes;
    options.join_regular = join_regular;
    return parse_ebnf(text, options, part);
  };
  return compile_joined(write, vocab, limits, budget);
}

void update(Sha256* sha, std::string_view text) {
  const std::uint64_t size = text.size();
  sha->update(std::as_bytes(std::span(&size, 1)));
  sha->update(text);
}

}  // namespace

Digest256 digest_of(const GrammarSpec& spec) {
  Sha256 sha;
  const auto kind = static_cast<char>(spec.kind);
  update(&sha, std::string_view(&kind, 1));
  update(&sha, spec.text);
  update(&sha, spec.form);
  for (const std::string& choice : spec.choices) {
    update(&sha, choice);
  }
  return sha.finish();
}

Result<std::shared_ptr<const CompiledGrammar>> compile_grammar(
    Cfg cfg, std::shared_ptr<const GrammarVocab> vocab, const GrammarLimits& limits,
    CompileBudget* budget, std::vector<std::string> ignored) {
  PLUMB_ASSIGN(std::unique_ptr<const CompiledGrammar> grammar,
               CompiledGrammar::compile(std::move(cfg), std::move(vocab), limits, budget,
                                        std::move(ignored)));
  return std::shared_ptr<const CompiledGrammar>(std::move(grammar));
}

Result<std::shared_ptr<const CompiledGrammar>> compile_grammar(
    const GrammarSpec& spec, std::shared_ptr<const GrammarVocab> vocab, const GrammarLimits& limits,
    CompileBudget* budget) {
  switch (spec.kind) {
    case GrammarKind::kJsonObject:
      return compile_grammar(json_object_grammar(), std::move(vocab), limits, budget);
    case GrammarKind::kRegex: {
      PLUMB_ASSIGN(Cfg cfg, regex_grammar(spec.text, *budget));
      return compile_grammar(std::move(cfg), std::move(vocab), limits, budget);
    }
    case GrammarKind::kEbnf:
      return compile_ebnf(spec.text, vocab, limits, budget);
    case GrammarKind::kChoice: {
      PLUMB_ASSIGN(Cfg cfg, choice_grammar(spec.choices, budget));
      return compile_grammar(std::move(cfg), std::move(vocab), limits, budget);
    }
    default:
      return Status{Code::kUnsupported, "grammar: this kind is not compiled from its spec alone"};
  }
}

Result<std::shared_ptr<const CompiledGrammar>> compile_structural_tag(
    std::string_view text, const StructuralTagOptions& options,
    std::shared_ptr<const GrammarVocab> vocab,
    const std::function<std::shared_ptr<const GrammarVocab>()>& vocab_with_marks,
    const GrammarLimits& limits, CompileBudget* budget) {
  if (std::ssize(text) > kMaxGrammarBytes) {
    return Status{Code::kInvalidArgument, "structural tag: " + std::to_string(text.size()) +
                                              " bytes exceed the limit " +
                                              std::to_string(kMaxGrammarBytes)};
  }
  PLUMB_ASSIGN(const TagFormat root, parse_structural_tag(text, budget));
  std::vector<std::string> ignored;
  const auto write = [&](bool join_regular, CompileBudget* part) {
    StructuralTagOptions joined = options;
    joined.join_regular = join_regular;
    return write_structural_tag(root, joined, part, &ignored);
  };
  if (root.speaks_of_tokens) {
    vocab = vocab_with_marks();
  }
  return compile_joined(write, vocab, limits, budget, ignored);
}

}  // namespace plumb
