// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "grammar/cfg.h"

namespace plumb {

/// A nonterminal of a GrammarDraft.
enum class DraftId : std::uint32_t {};

/// A grammar in the making, in which rules may turn out to be useless. Only those that take part in
/// some derivation of a text reach the Cfg: a matcher must never be led to where nothing follows.
///
/// Thread  one at a time.
class GrammarDraft {
 public:
  /// One symbol of a rule: a terminal, or a nonterminal `min` to `max` times.
  struct Item {
    bool is_terminal = false;
    RegexId regex{};
    DraftId nonterminal{};
    std::int64_t min = 1;
    std::int64_t max = 1;
  };

  static Item terminal(RegexId regex) { return {.is_terminal = true, .regex = regex}; }

  static Item once(DraftId id) { return {.nonterminal = id}; }

  static Item repeated(DraftId id, std::int64_t min, std::int64_t max) {
    return {.nonterminal = id, .min = min, .max = max};
  }

  DraftId nonterminal(std::string name);
  /// Requires the languages of the terminals are not empty.
  void add_rule(DraftId lhs, std::vector<Item> rhs);

  /// Whether some text derives from it. Valid once all rules are there.
  bool is_productive(DraftId id);
  /// Writes what is reachable from the start. Requires is_productive(start).
  void write(DraftId start, Cfg* cfg);
  /// A nonterminal without rules that keeps `from` from being productive; `from` if there is none.
  DraftId obstacle(DraftId from);

 private:
  struct Nonterminal {
    std::string name;
    std::vector<std::vector<Item>> rules;
    std::vector<std::pair<DraftId, std::uint32_t>> users;  ///< lhs and rule in which it is needed
  };

  Nonterminal& at(DraftId id) { return nonterminals_[static_cast<std::size_t>(id)]; }

  void find_productive();
  bool rule_works(const std::vector<Item>& rule) const;

  std::vector<Nonterminal> nonterminals_;
  std::vector<bool> productive_;
};

}  // namespace plumb
