// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_tables.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace plumb {
namespace {

std::size_t at(SymbolId symbol) {
  return static_cast<std::size_t>(symbol);
}

// Builds the tables in steps; each step reads what the ones before it found.
class TableBuilder {
 public:
  TableBuilder(Cfg* cfg, CompileBudget* budget) : cfg_(*cfg), budget_(*budget) {}

  Result<GrammarTables> build() {
    PLUMB_RETURN_IF_ERROR(budget_.check_rules(std::ssize(cfg_.rules())));
    index_rules();
    find_reachable();
    PLUMB_RETURN_IF_ERROR(build_terminals());
    find_derivable(/*nullable=*/false, &is_productive_);
    if (!is_productive_[at(cfg_.start())]) {
      return Status{Code::kInvalidArgument, "grammar: no text matches it"};
    }
    find_derivable(/*nullable=*/true, &is_nullable_);
    lay_out_rules();
    PLUMB_RETURN_IF_ERROR(share_places());
    PLUMB_RETURN_IF_ERROR(find_classes());
    return std::move(tables_);
  }

 private:
  std::span<const Cfg::Rule> rules() const { return cfg_.rules(); }

  std::size_t num_symbols() const { return static_cast<std::size_t>(cfg_.num_symbols()); }

  void index_rules() {
    rules_of_.resize(num_symbols());
    for (std::size_t r = 0; r < rules().size(); ++r) {
      rules_of_[at(rules()[r].lhs)].push_back(r);
    }
  }

  void find_reachable() {
    is_reachable_.assign(num_symbols(), false);
    std::vector<SymbolId> todo{cfg_.start()};
    is_reachable_[at(cfg_.start())] = true;
    while (!todo.empty()) {
      const SymbolId symbol = todo.back();
      todo.pop_back();
      for (const std::size_t r : rules_of_[at(symbol)]) {
        for (const SymbolId part : rules()[r].rhs) {
          if (!is_reachable_[at(part)]) {
            is_reachable_[at(part)] = true;
            todo.push_back(part);
          }
        }
      }
    }
  }

  Status build_terminals() {
    terminal_index_.assign(num_symbols(), 0);
    for (std::size_t s = 0; s < num_symbols(); ++s) {
      const auto symbol = static_cast<SymbolId>(s);
      if (is_reachable_[s] && cfg_.is_terminal(symbol)) {
        PLUMB_ASSIGN(Dfa dfa, Dfa::build(cfg_.regex(symbol), &cfg_.regexes_of(symbol), &budget_));
        if (cfg_.speaks_of_tokens() && !cfg_.has_marks(symbol)) {
          dfa = dfa.with_loop(Cfg::kTokenMark);
        }
        terminal_index_[s] = static_cast<std::uint32_t>(tables_.terminals.size());
        tables_.terminals.push_back(std::move(dfa));
      }
    }
    return {};
  }

  // The symbols that derive some text, or the empty one. A rule counts down the symbols that are
  // still missing, so that each occurrence is touched once.
  void find_derivable(bool nullable, std::vector<bool>* found) {
    found->assign(num_symbols(), false);
    std::vector<std::vector<std::size_t>> uses(num_symbols());
    std::vector<std::size_t> num_missing(rules().size());
    std::vector<SymbolId> todo;
    const auto add = [&](SymbolId symbol) {
      if (!(*found)[at(symbol)]) {
        (*found)[at(symbol)] = true;
        todo.push_back(symbol);
      }
    };
    for (std::size_t r = 0; r < rules().size(); ++r) {
      num_missing[r] = rules()[r].rhs.size();
      for (const SymbolId part : rules()[r].rhs) {
        uses[at(part)].push_back(r);
      }
      if (num_missing[r] == 0) {
        add(rules()[r].lhs);
      }
    }
    for (std::size_t s = 0; s < num_symbols(); ++s) {
      if (is_reachable_[s] && cfg_.is_terminal(static_cast<SymbolId>(s))) {
        const Dfa& dfa = tables_.terminals[terminal_index_[s]];
        if (dfa.start() != Dfa::kDead && (!nullable || dfa.is_accepting(0))) {
          add(static_cast<SymbolId>(s));
        }
      }
    }
    while (!todo.empty()) {
      const SymbolId symbol = todo.back();
      todo.pop_back();
      for (const std::size_t r : uses[at(symbol)]) {
        if (--num_missing[r] == 0) {
          add(rules()[r].lhs);
        }
      }
    }
  }

  std::uint32_t add_nonterminal(SymbolId symbol) {
    const auto [it, is_new] = nonterminal_index_.try_emplace(
        symbol, static_cast<std::uint32_t>(nonterminal_index_.size()));
    if (is_new) {
      order_.push_back(symbol);
    }
    return it->second;
  }

  void lay_out_rule(std::span<const SymbolId> rhs) {
    using PlaceKind = GrammarTables::PlaceKind;
    tables_.rule_begin.push_back(static_cast<std::uint32_t>(tables_.places.size()));
    for (const SymbolId part : rhs) {
      if (cfg_.is_terminal(part)) {
        tables_.places.push_back({PlaceKind::kTerminal, terminal_index_[at(part)]});
      } else {
        tables_.places.push_back({PlaceKind::kNonterminal, add_nonterminal(part)});
      }
    }
    tables_.places.push_back({PlaceKind::kEnd, 0});
  }

  void lay_out_rules() {
    if (cfg_.is_terminal(cfg_.start())) {
      const std::array rhs{cfg_.start()};
      tables_.nonterminals.push_back({0, 1, is_nullable_[at(cfg_.start())]});
      lay_out_rule(rhs);
      return;
    }
    add_nonterminal(cfg_.start());
    for (std::size_t n = 0; n < order_.size(); ++n) {
      const SymbolId symbol = order_[n];
      const auto first = static_cast<std::uint32_t>(tables_.rule_begin.size());
      for (const std::size_t r : rules_of_[at(symbol)]) {
        const std::vector<SymbolId>& rhs = rules()[r].rhs;
        const auto is_productive = [&](SymbolId part) { return is_productive_[at(part)]; };
        if (std::all_of(rhs.begin(), rhs.end(), is_productive)) {
          lay_out_rule(rhs);
        }
      }
      tables_.nonterminals.push_back({first,
                                      static_cast<std::uint32_t>(tables_.rule_begin.size()) - first,
                                      is_nullable_[at(symbol)]});
    }
  }

  // Rules with equal rests wait for the same: their places before it are one.
  Status share_places() {
    std::map<std::tuple<GrammarTables::PlaceKind, std::uint32_t, std::uint32_t>, std::uint32_t>
        known;
    std::vector<GrammarTables::Place>& places = tables_.places;
    tables_.shared_place.resize(places.size());
    for (std::size_t i = places.size(); i-- > 0;) {
      PLUMB_RETURN_IF_ERROR(budget_.poll());
      const bool is_end = places[i].kind == GrammarTables::PlaceKind::kEnd;
      const std::uint32_t rest = is_end ? 0 : tables_.shared_place[i + 1];
      tables_.shared_place[i] =
          known.try_emplace({places[i].kind, places[i].index, rest}, static_cast<std::uint32_t>(i))
              .first->second;
    }
    return {};
  }

  Status find_classes() {
    std::array<int, 256> classes{};
    int num = 1;
    for (const Dfa& dfa : tables_.terminals) {
      PLUMB_RETURN_IF_ERROR(budget_.poll_now());
      std::map<std::pair<int, int>, int> renamed;
      for (std::size_t b = 0; b < classes.size(); ++b) {
        const std::pair key{classes[b], dfa.byte_class(static_cast<std::uint8_t>(b))};
        classes[b] = renamed.try_emplace(key, static_cast<int>(renamed.size())).first->second;
      }
      num = static_cast<int>(renamed.size());
      if (num == 256) {
        break;
      }
    }
    for (std::size_t b = 0; b < classes.size(); ++b) {
      tables_.byte_class[b] = static_cast<std::uint8_t>(classes[b]);
    }
    tables_.num_classes = num;
    return {};
  }

  Cfg& cfg_;
  CompileBudget& budget_;
  GrammarTables tables_;
  std::vector<std::vector<std::size_t>> rules_of_;  // by symbol
  std::vector<bool> is_reachable_;
  std::vector<bool> is_productive_;
  std::vector<bool> is_nullable_;
  std::vector<std::uint32_t> terminal_index_;
  std::map<SymbolId, std::uint32_t> nonterminal_index_;
  std::vector<SymbolId> order_;  // nonterminals by index
};

}  // namespace

Result<GrammarTables> GrammarTables::build(Cfg* cfg, CompileBudget* budget) {
  return TableBuilder(cfg, budget).build();
}

std::int64_t GrammarTables::num_bytes() const {
  std::int64_t total = static_cast<std::int64_t>(
      places.size() * (sizeof(Place) + sizeof(shared_place[0])) +
      rule_begin.size() * sizeof(rule_begin[0]) + nonterminals.size() * sizeof(Nonterminal));
  for (const Dfa& dfa : terminals) {
    total += static_cast<std::int64_t>(sizeof(Dfa)) + dfa.num_bytes();
  }
  return total;
}

}  // namespace plumb
