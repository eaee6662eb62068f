// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

  RegexSet& regexes() { return regexes_; }
  const RegexSet& regexes() const { return regexes_; }

  /// The terminal of that language; the same one for the same expression.
  SymbolId terminal(RegexId regex);
  SymbolId terminal(std::string_view literal);

  /// A new nonterminal; the name is for messages and needs not be unique.
  SymbolId nonterminal(std::string_view name);
  void add_rule(SymbolId lhs, std::vector<SymbolId> rhs);

  /// Derived nonterminals, with at most O(log max) rules each where that is possible.
  SymbolId sequence(std::vector<SymbolId> parts);
  SymbolId any_of(std::span<const SymbolId> alternatives);
  SymbolId optional(SymbolId symbol);
  /// Requires 0 <= min, and max = kUnbounded or max >= min.
  SymbolId repeat(SymbolId symbol, std::int64_t min, std::int64_t max);

  void set_start(SymbolId symbol);
  SymbolId start() const;

  bool is_terminal(SymbolId symbol) const;
  RegexId regex(SymbolId terminal) const;
  std::string_view name(SymbolId symbol) const;
  std::span<const Rule> rules() const;
  std::int64_t num_symbols() const;
};

}  // namespace plumb
