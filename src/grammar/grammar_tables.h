// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/dfa.h"

namespace plumb {

/// A grammar in the form the matcher walks: rules laid out in one array of places, automata for the
/// terminals, without rules that derive no text.
///
/// A place is a position in a rule: "before that symbol" or "at the end of that rule". The place
/// after a symbol is the next index.
/// Thread  any (immutable).
struct GrammarTables {
  enum class PlaceKind : std::uint8_t { kEnd, kTerminal, kNonterminal };

  struct Place {
    PlaceKind kind = PlaceKind::kEnd;
    std::uint32_t index = 0;  ///< of the terminal or nonterminal before which it stands
  };

  struct Nonterminal {
    std::uint32_t first_rule = 0;  ///< into rule_begin
    std::uint32_t num_rules = 0;
    bool is_nullable = false;
  };

  std::vector<Dfa> terminals;
  std::vector<Place> places;
  /// One place for all from which the same follows: for all ends of rules, for one.
  std::vector<std::uint32_t> shared_place;
  std::vector<std::uint32_t> rule_begin;  ///< the first place of each rule, by nonterminal
  std::vector<Nonterminal> nonterminals;
  std::uint32_t start = 0;  ///< a nonterminal
  /// Bytes that no terminal tells apart share a class.
  std::array<std::uint8_t, 256> byte_class{};
  std::int32_t num_classes = 1;

  std::span<const std::uint32_t> rules_of(std::uint32_t nonterminal) const {
    const Nonterminal& n = nonterminals[nonterminal];
    return std::span(rule_begin).subspan(n.first_rule, n.num_rules);
  }

  std::int64_t num_bytes() const;

  /// Errors: kInvalidArgument if the grammar derives no text at all; those of the budget.
  static Result<GrammarTables> build(Cfg* cfg, CompileBudget* budget);
};

}  // namespace plumb
