// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/regex_set.h"

namespace plumb {

/// A terminal or nonterminal inside one Cfg.
enum class SymbolId : std::uint32_t {};

/// A context-free grammar over bytes whose terminals are regular languages: the form to which every
/// front end (JSON Schema, regex, EBNF, choices) translates and from which the matcher works.
///
/// Every derivation counts, not the longest match: a terminal may end wherever its language allows.
/// So terminals of one rule may overlap freely, and a regular part is best written as one terminal.
/// Left recursion, empty rules and ambiguity are allowed.
/// Thread  one at a time.
class Cfg {
 public:
  struct Rule {
    SymbolId lhs{};
    std::vector<SymbolId> rhs;  ///< empty = the empty string
  };

  /// A byte that stands before and after each token, and inside no text. Grammars that speak of
  /// tokens have it; it may come anywhere in their terminals but for those of token_terminal().
  static constexpr std::uint8_t kTokenMark = 0xFE;

  RegexSet& regexes() { return regexes_; }

  const RegexSet& regexes() const { return regexes_; }

  /// The terminal of that language; the same one for the same expression.
  SymbolId terminal(RegexId regex) { return terminal(regex, /*has_marks=*/false); }

  /// A terminal that says where the token marks are: makes this a grammar that speaks of tokens.
  SymbolId token_terminal(RegexId regex) { return terminal(regex, /*has_marks=*/true); }

  SymbolId terminal(std::string_view literal);

  /// A new nonterminal; the name is for messages and needs not be unique.
  SymbolId nonterminal(std::string_view name);
  /// Requires lhs is a nonterminal.
  void add_rule(SymbolId lhs, std::vector<SymbolId> rhs);

  /// Derived nonterminals, with at most O(log max) rules each where that is possible.
  SymbolId sequence(std::vector<SymbolId> parts);
  SymbolId any_of(std::span<const SymbolId> alternatives);
  SymbolId optional(SymbolId symbol);
  /// Requires 0 <= min, and max = kUnbounded or max >= min.
  SymbolId repeat(SymbolId symbol, std::int64_t min, std::int64_t max);

  /// Takes over the symbols and rules of another grammar; gives its start.
  /// Requires set_start() was called there, and that it speaks of no tokens.
  SymbolId absorb(Cfg other);

  void set_start(SymbolId symbol) { start_ = symbol; }

  /// Requires set_start() was called.
  SymbolId start() const { return start_; }

  bool is_terminal(SymbolId symbol) const { return of(symbol).is_terminal; }

  /// Requires a terminal.
  RegexId regex(SymbolId terminal) const { return of(terminal).regex; }

  /// The set of that expression: the one of this grammar or of an absorbed one.
  RegexSet& regexes_of(SymbolId terminal) {
    const std::uint32_t set = of(terminal).set;
    return set == 0 ? regexes_ : absorbed_[set - 1];
  }

  bool has_marks(SymbolId terminal) const { return of(terminal).has_marks; }

  bool speaks_of_tokens() const { return speaks_of_tokens_; }

  /// Of all its sets.
  std::int64_t num_expressions() const;

  std::string_view name(SymbolId symbol) const { return of(symbol).name; }

  std::span<const Rule> rules() const { return rules_; }

  std::int64_t num_symbols() const { return static_cast<std::int64_t>(symbols_.size()); }

 private:
  struct Symbol {
    bool is_terminal = false;
    RegexId regex{};
    std::uint32_t set = 0;  ///< of the expression: 0 = regexes_, n = absorbed_[n - 1]
    bool has_marks = false;
    std::string name;
  };

  const Symbol& of(SymbolId symbol) const { return symbols_[static_cast<std::size_t>(symbol)]; }

  SymbolId terminal(RegexId regex, bool has_marks);
  SymbolId add_symbol(Symbol symbol);
  SymbolId exactly(SymbolId symbol, std::int64_t num);
  SymbolId at_most(SymbolId symbol, std::int64_t num);
  SymbolId any_number(SymbolId symbol);

  RegexSet regexes_;
  std::vector<RegexSet> absorbed_;
  bool speaks_of_tokens_ = false;
  std::vector<Symbol> symbols_;
  std::vector<Rule> rules_;
  std::unordered_map<std::uint64_t, SymbolId> terminals_;  // by expression * 2 + has_marks
  std::map<std::pair<SymbolId, std::int64_t>, SymbolId> exact_counts_;
  SymbolId start_{};
};

}  // namespace plumb
